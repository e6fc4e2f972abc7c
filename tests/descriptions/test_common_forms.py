"""Common forms of English sentences about curves: false ones are recognised, and no true one is called false."""

import pytest

from passus.analysis.claim_check import check_own_numbers
from passus.analysis.claim_verdict import Judgement
from passus.descriptions.point_reader import read_chart_data

CHART = """The chart shows the accuracy of three runs, Alpha, Beta and Gamma, on a test set.

| step | Alpha | Beta | Gamma |
|---|---|---|---|
| 0 | 0.20 | 0.25 | 0.10 |
| 100 | 0.30 | 0.35 | 0.12 |
| 200 | 0.45 | 0.40 | 0.30 |
| 300 | 0.50 | 0.38 | 0.52 |
| 400 | 0.55 | 0.36 | 0.60 |

"""
FALSE = """\
At step 100, Alpha is ahead of Beta.
At step 100 Alpha has a higher accuracy than Beta.
At step 100, the accuracy of Alpha exceeds that of Beta.
Alpha's accuracy at step 100 is above Beta's.
Beta trails Gamma at step 100.
At step 200 Beta still leads Alpha.
Beta is better than Alpha at step 300.
At step 300, Beta scores higher than Gamma.
At the end, Beta outperforms Gamma.
By the end of training, Beta has overtaken Gamma.
Beta finishes ahead of Alpha.
Beta ends up with a higher accuracy than Alpha.
Alpha starts above Beta.
Alpha begins with the highest accuracy of the three.
Gamma starts with the best accuracy.
Alpha has the highest final accuracy.
Alpha ends with the best score.
The highest final accuracy is reached by Alpha.
The best final result belongs to Alpha.
Of the three runs, Alpha ends highest.
Gamma ends in last place.
Gamma finishes last.
The lowest final value is that of Alpha.
Beta reaches the highest value in the whole chart.
No run ever exceeds 0.5.
None of the runs reaches 0.55.
Alpha never exceeds 0.4.
Beta never falls below 0.3.
Gamma stays below 0.5 throughout.
Gamma stays below 0.5 the whole time.
All runs end above 0.4.
All three runs finish above 0.5.
Every run ends higher than it started by at least 0.2.
Only one run ends above 0.5.
Only Gamma ends above 0.5.
Two of the three runs end below 0.5.
Exactly one run exceeds 0.5 at step 400.
Beta rises throughout.
Beta improves at every step.
Beta increases monotonically.
Beta keeps improving until the end.
Beta improves from step 200 to step 400.
Beta continues to rise after step 200.
After step 200, Beta keeps climbing.
Alpha drops after step 200.
Alpha declines in the second half of training.
Alpha peaks at step 200 and then declines.
Gamma reaches its maximum at step 300.
Gamma peaks at step 200.
Beta peaks at step 100.
Beta attains its best accuracy at step 300.
Beta's best checkpoint is step 100.
Beta is at its best at step 400.
Gamma has its lowest value at step 100.
Beta plateaus after step 0.
Gamma is flat between step 100 and step 300.
Gamma levels off after step 100.
Alpha remains constant from step 100 on.
Gamma barely changes after step 100.
Gamma hardly moves between steps 100 and 300.
Gamma stagnates from step 100 to step 400.
Alpha gains 20 points over the run.
Gamma improves by 30 points.
Gamma gains less than 10 points between steps 100 and 300.
Beta loses 10 points between step 200 and step 400.
Beta drops by more than 10 points after step 200.
Alpha doubles its accuracy between step 200 and step 400.
Alpha more than triples its initial accuracy.
Gamma doubles its initial accuracy by step 100.
Gamma ends at twice its initial accuracy.
Alpha gains more than Gamma.
Alpha improves more than Gamma over the run.
Beta gains the most.
The largest improvement is that of Alpha.
Alpha shows the largest gain over the run.
Beta improves faster than Gamma between step 100 and step 300.
Alpha overtakes Beta between step 200 and step 300.
Gamma overtakes Beta between step 100 and step 200.
Gamma passes Alpha between step 100 and step 200.
Alpha and Gamma cross between step 100 and step 200.
The curves of Alpha and Beta never cross.
Alpha and Beta do not cross.
Beta crosses Alpha after step 300.
Gamma never overtakes Alpha.
Gamma is never ahead of Beta.
Gamma is ahead of Alpha from step 200 on.
Alpha leads throughout.
Alpha is in the lead from the start.
Beta is ahead of Alpha until step 300.
Beta leads Alpha up to step 300.
At step 400, Gamma leads Alpha by 10 points.
Gamma ends 10 points ahead of Alpha.
The final gap between Alpha and Beta is less than 10 points.
At step 400, Alpha and Gamma are 15 points apart.
Alpha and Gamma differ by more than 10 points at the end.
At step 400 the three runs lie within 10 points of each other.
At the end, all three runs are within 0.1 of one another.
Gamma finishes within one point of Alpha.
The gap between Alpha and Beta shrinks from step 200 to step 400.
After step 200, the gap between Alpha and Beta narrows.
The distance between Alpha and Beta is largest at step 200.
Gamma's lead over Beta shrinks after step 300.
Alpha and Beta start at the same value.
Alpha and Gamma finish at the same accuracy.
At step 0 all runs have the same accuracy.
Alpha and Gamma converge to the same value.
Gamma passes 0.5 before step 200.
Gamma does not exceed 0.2 until step 300.
Alpha needs 400 steps to reach 0.5.
By step 200, Gamma has reached 0.4.
Gamma crosses the 0.5 mark between steps 100 and 200.
Beta ends above its starting point by 20 points.
Beta ends below where it started.
Beta finishes lower than it began.
Beta ends at its peak.
Gamma ends below its peak.
Alpha's final accuracy is lower than its accuracy at step 200.
At step 400, Beta is better than at step 200.
Beta is higher at step 400 than at step 200.
Beta's accuracy at step 300 is higher than at step 200.
Alpha starts at 0.3.
Gamma ends at 0.55.
Beta ends at around 0.45.
At step 200, Gamma is at 0.4.
At step 300, the accuracy of Alpha is 0.42.
Alpha goes from 0.20 to 0.45 over the run.
Gamma climbs from 0.10 at the start to 0.50 at the end.
The final ranking is Alpha, Gamma, Beta.
At the end, the order from best to worst is Alpha, Gamma, Beta.
The order at the end is the same as at the start.
Beta is the only run that does not decline.
Alpha is the only run that falls after step 200.
Only Alpha loses accuracy after step 200.
All runs improve after step 200.
None of the runs loses accuracy at any point.
Both Alpha and Beta end above 0.5.
Neither Alpha nor Gamma reaches 0.5.
Alpha and Beta both rise after step 200.
At step 200 Gamma is in second place.
Gamma is second at step 200.
Gamma moves into first place at step 200.
Gamma takes the lead at step 200.
Most of Gamma's gain comes before step 100.
More than half of the improvement of Gamma is made by step 100.
The biggest jump of Gamma occurs between step 0 and step 100.
Gamma's steepest rise is between steps 300 and 400.
Alpha's largest single gain comes between step 300 and step 400.
Unlike Beta, Alpha declines after step 200.
Although Gamma starts lowest, it ends below Alpha.
Beta wins at the end.
Beta comes out on top.
The winner at step 400 is Alpha.
Alpha is on top from step 100 to step 300.
Beta has the worst start.
Alpha is the worst at step 100.
Gamma gains nothing between step 100 and step 200.
Gamma does not improve before step 300.
Alpha loses accuracy between steps 200 and 300.
There is a drop in Alpha between steps 200 and 300.
Alpha shows a decline after step 200.
Alpha reaches a plateau at step 100.
At the last evaluation, Alpha has the highest accuracy.
At the final checkpoint, Beta is above Alpha.
At the first evaluation, Gamma is above Beta.
In the first 200 steps, Alpha gains 15 points.
During the last 100 steps, Alpha gains 10 points.
In the last 200 steps, Beta gains 4 points.
Alpha is twice as accurate as Beta at the end.
At the end, Gamma is three times as accurate as Beta.
Gamma has at least twice the accuracy of Beta at step 400.
"""
NOT_FALSE = """\
At step 100, Alpha is still behind Beta, but it has caught up by step 200.
Alpha overtakes Beta between steps 100 and 200 and stays ahead from then on.
Gamma, which starts lowest, ends highest.
Gamma starts below both of its competitors but finishes above them.
Beta peaks at step 200 and loses four points by the end.
Beta is the best run until step 100.
Beta is best only at the first two checkpoints.
Beta leads at steps 0 and 100 only.
Only at step 200 is Alpha in first place.
Alpha is first at step 200 and second everywhere else.
Alpha takes the lead at step 200, and Gamma takes it over at step 300.
Gamma needs 300 steps to pass Alpha.
Gamma does not pass Alpha until step 300.
It takes Gamma until step 300 to overtake the other two.
Until step 200, Gamma is the worst of the three.
Up to step 200, Gamma lies below both other runs.
Before step 300, Gamma never leads.
Beta never gets past 0.4.
Beta never exceeds its value at step 200.
No run but Gamma exceeds 0.55.
No other run gets above 0.6.
None of the runs starts above 0.25.
Alpha gains 25 points in the first 200 steps, but only 10 in the last 200.
Alpha gains more in the first half of training than in the second.
Gamma gains most of its accuracy between steps 100 and 300.
Between steps 100 and 300, Gamma gains 40 points, more than either of the others.
Gamma gains 50 points in total, 15 more than Alpha.
The gap between Alpha and Gamma shrinks from 18 points at step 100 to 5 points at the end.
The gap between Alpha and Beta first closes, then opens again in the other direction.
After step 200 the gap between Alpha and Beta widens to 19 points.
From step 200 on, Beta falls, while the other two keep rising.
From step 200 on, Beta is the only run that falls.
All runs but Beta improve at every step.
All runs except Beta end above 0.5.
Every run ends higher than it started.
Only Beta ends below its peak.
Beta ends four points below its peak.
Beta gives back four of the fifteen points that it had gained.
Beta loses about a quarter of its gain after step 200.
Alpha more than doubles its initial accuracy, Gamma multiplies it by six.
Gamma ends at six times its initial accuracy.
Beta does not even double its initial accuracy.
With 200 steps, Alpha reaches what Gamma reaches with less than 300.
Alpha is never the worst run after step 0.
Alpha is in last place at no checkpoint.
Gamma is in last place at the first three checkpoints.
At step 300 the order is Gamma, Alpha, Beta.
The order at the end is the reverse of that at step 100, except that Alpha stays in the middle.
Gamma barely moves in the first 100 steps.
Gamma hardly improves before step 100.
In the last 100 steps, Beta loses only two points.
The accuracy of Beta changes by less than five points after step 200.
At step 400, Alpha is five points below Gamma, but 19 points above Beta.
At step 400, Alpha trails Gamma by five points.
Gamma finishes five points clear of Alpha.
Alpha's lead over Beta grows from five points at step 200 to 19 points at step 400.
Beta's lead over Gamma is largest at step 100, where it amounts to 23 points.
At its peak, Beta is still below the final accuracy of Alpha.
Beta's best value is lower than Alpha's value at step 200.
Even at its best, Beta stays below 0.45.
What Beta gains by step 200, it partly loses afterwards.
If Beta had been stopped at step 200, it would have ended at 0.40.
One might expect Beta to keep rising, but it does not.
We expected Gamma to plateau after step 100, but it rises steeply instead.
The plan was to stop Gamma at step 100.
Contrary to our expectation, Gamma does not stay in last place.
It is not true that Beta ends first.
Nobody claims that Beta is the best run.
Alpha would have to gain ten points to catch up with Gamma.
It looks as if Gamma had not yet converged.
Unlike the other two, Beta declines after step 200.
Like Alpha, Gamma rises at every step.
Compared with step 200, Beta is worse at step 400.
Relative to Beta, Alpha gains 24 points over the run.
With the exception of Beta, all runs rise throughout.
Apart from Beta, no run ever declines.
Alpha beats Beta at three of the five checkpoints.
Gamma is ahead of Alpha at two of the five checkpoints.
Alpha and Beta are five points apart at steps 0, 100 and 200.
At the start Beta leads by five points, at the end it trails by 19.
The winner changes twice.
Three different runs are in the lead at some point.
Gamma has the worst start and the best finish.
Gamma goes from worst to best.
Beta goes from first to last.
Alpha is first once and second at four checkpoints.
Gamma starts off slowly and then picks up speed.
The steepest rise of all is that of Gamma between steps 200 and 300.
Beta is above 0.35 from step 100 on.
Gamma is above 0.5 at the last two checkpoints only.
Two runs end above 0.5, one below 0.4.
Alpha crosses 0.4 between steps 100 and 200.
Neither Beta nor Alpha reaches 0.6.
Alpha and Gamma both end above 0.5, whereas Beta ends at 0.36.
The difference between the best and the worst run at the end is 24 points.
The spread is smallest at step 0.
At step 200 the three runs lie within 15 points of each other.
The final accuracy of Gamma is higher than that of any other run at any step.
Beta ends lower than Alpha was at step 200.
Alpha at step 200 is better than Beta at any step.
The decline of Beta begins after step 200.
Beta's decline sets in after step 200.
Alpha has not levelled off by the end.
Gamma is still rising at the end, though more slowly than before.
Half of the improvement of Alpha is reached well before step 200.
By step 200, Alpha has made more than half of its improvement.
No two curves coincide at step 400.
The first to exceed 0.4 is Alpha.
Alpha is the first run to exceed 0.4.
Gamma is the last to get past 0.2.
Alpha rises. So does Gamma. Beta does not.
Beta rises until step 200. It then falls.
The best run at step 100 is the worst at the end.
The run that starts best ends worst.
The run with the best start has the worst end.
Gamma is the surprise of the chart. It starts lowest and ends highest.
Beta starts well. Its accuracy rises to 0.40 at step 200. It then loses four points.
Alpha and Beta cross once, between steps 100 and 200. They are 19 points apart at the end.
The two best runs are Gamma and Alpha. Both end above 0.5. The third one does not.
Beta is ahead of Alpha at step 100. The latter overtakes it by step 200.
Alpha beats Beta at the end. The former ends at 0.55, the latter at 0.36.
The baseline is Beta. Alpha passes it between steps 100 and 200. It never falls back behind it.
The gap between Gamma and Beta is 24 points at the end. It has never been larger.
The accuracy of Alpha rises at every step. That of Beta does not.
The third run is different. It gains 50 points.
The ablation without warmup is not shown. It ended below 0.2.
Another run, which is not in the chart, was worse. It ended at 0.15.
We also trained a larger model. It reaches 0.7 at step 400.
The previous version of Alpha ended at 0.50. It was slower.
On the training set, Alpha reaches 0.9. There it is ahead of Gamma.
The loss of Alpha falls throughout. It ends lowest.
The response length of Beta doubles. Gamma writes the longest answers.
In our earlier paper, Beta was the best run at the end.
With a larger batch, Beta would end first.
Last week, Beta was ahead of Gamma at step 400.
On the second benchmark, Beta is first at the end.
In terms of speed, Beta is the best run.
Beta is the cheapest run, Gamma the most expensive.
Beta uses the fewest tokens.
Alpha is the most stable run.
Beta was the first run that we started.
Beta ran on the fastest machine.
Beta has the smallest learning rate.
Alpha has twice the learning rate of Beta.
Gamma has a longer warmup than Alpha.
The learning rate of Gamma falls after step 200.
The entropy of Alpha drops after step 100.
The reward of Gamma is flat after step 200.
Beta stops improving after step 200, Alpha does not.
Alpha improves, Beta does not after step 200.
Gamma overtakes Beta, then Alpha.
First Beta leads, then Alpha, and finally Gamma.
Beta, Alpha and Gamma lead in turn.
After a slow start, Gamma overtakes the others one after the other.
Alpha holds the lead for one checkpoint only.
Beta falls from first to last place.
Gamma climbs from third to first place.
Alpha stays within five points of Beta until step 200.
Alpha is never more than ten points behind the leader.
Alpha is at most ten points behind the leader at any step.
Alpha's deficit to Beta is five points at first.
At step 100 the leader is Beta, not Alpha.
Not Alpha but Gamma ends first.
It is Gamma, not Alpha, that ends first.
Gamma rather than Alpha ends first.
Instead of Alpha, Gamma ends first.
Nowhere is Gamma's gain larger than between steps 200 and 300.
Never before step 300 is Gamma ahead of Alpha.
At no step before 300 is Gamma ahead of Alpha.
Gamma ends where no other run ends: above 0.55.
All but one of the runs end above 0.5.
Half of the checkpoints see Beta below 0.37.
Beta's accuracy at the end is what it was at step 100, give or take a point.
Beta ends about as high as it was at step 100.
By the end Beta is almost back where it was at step 100.
Alpha ends as the second-best run.
Second at the end is Alpha.
Last at the end is Beta, the early leader.
The early leader, Beta, ends last.
The late starter Gamma wins in the end.
Gamma wins in spite of its poor start.
Had training ended at step 200, Alpha would have won.
If training had ended at step 100, Beta would have won.
Stopping at step 100 would make Beta the winner.
At step 100, 23 points separate Beta from Gamma.
Ten points separate Beta from Gamma at step 200.
Beta is still ten points ahead of Gamma at step 200.
Alpha gains five points per hundred steps after step 200.
Between steps 300 and 400 each of the three changes by less than ten points.
Gamma improves by less from step 300 to step 400 than from step 200 to step 300.
Gamma's improvement slows down after step 300.
Alpha's progress slows down after step 200.
Alpha and Gamma rise at every step. The other one does not.
The two runs that end above 0.5 are Alpha and Gamma. They differ by five points at the end.
Alpha and Beta start close together. At the end they are far apart. The third run overtakes both.
Beta and Gamma swap places between steps 200 and 300. Neither of them leads at step 200.
Both runs with warmup end above 0.5.
The two larger runs end above 0.5.
Two runs end above 0.5. The remaining one ends below 0.4.
The first two runs end at 0.55 and 0.36.
Alpha and Beta lead in the first half. Both are overtaken by Gamma.
Of Alpha and Beta, the latter starts higher and the former ends higher.
Of the two, Alpha ends higher than Beta.
Among the runs that rise throughout, Gamma ends highest.
The runs without a drop are Alpha and Gamma.
Every run that starts below 0.25 ends above 0.5.
All runs that rise throughout end above 0.5.
Those that improve after step 200 are Alpha and Gamma.
The others keep rising after Beta has peaked.
When Beta peaks, Alpha is already ahead of it.
When Gamma takes the lead, it is two points ahead of Alpha.
By the time Gamma passes Alpha, Beta is falling.
As soon as Beta falls, the others pull away from it.
Once Gamma has passed 0.5, it gains eight points more.
Having peaked at step 200, Beta falls.
Starting from 0.10, Gamma climbs to 0.60.
Ending at 0.36, Beta is the worst of the three.
With 0.55 at the end, Alpha is second.
With an accuracy of 0.25, Beta starts best.
Alpha (0.55) and Gamma (0.60) end above 0.5, Beta (0.36) does not.
At the end it is Gamma > Alpha > Beta.
Final order: Gamma, Alpha, Beta.
Winner: Gamma.
Best at step 100: Beta.
Largest gain: Gamma.
Alpha: steady rise, ends second.
Gamma: slow at first, then fast; best at the end.
Beta: peaks at 0.40 (step 200), then declines to 0.36.
Beta reaches 0.40 at step 200 and does not get any higher after that.
Gamma is at 0.12 at step 100, i.e. it has hardly moved.
Alpha's curve lies between the other two from step 300 on.
Alpha lies between Gamma and Beta at steps 100, 300 and 400.
At steps 0 and 100 the order is Beta, Alpha, Gamma.
At no point does Beta lie above Alpha after step 200.
Beta is overtaken by Alpha before step 200 and by Gamma before step 300.
Beta is passed by both of the others.
Alpha is overtaken once, by Gamma.
Gamma is not overtaken by anyone.
Gamma never loses the lead that it takes at step 300.
The lead changes hands between steps 100 and 200 and again between steps 200 and 300.
Alpha would be the best run without Gamma.
Without Gamma, Alpha would end first.
Apart from Gamma, Alpha ends highest.
Alpha's advantage over Beta at step 300 is twelve points; over Gamma it has none.
Beta is as good at step 300 as Alpha is between steps 100 and 200.
Beta at step 100 beats Alpha at step 100 by five points and Gamma by 23.
In the race for first place, Gamma beats Alpha in the end.
Alpha's curve is steeper than Beta's at every step.
Gamma's gain between steps 200 and 300 alone exceeds the whole gain of Beta.
The gain of Alpha is more than three times that of Beta.
Beta's gain is less than a third of that of Alpha.
"""
"""Sentences that are true, or about something that the chart does not show."""


@pytest.mark.parametrize("sentence", FALSE.splitlines())
def test_a_false_sentence_is_contradicted(sentence):
    (own,) = [c for c in check_own_numbers(read_chart_data(CHART + sentence)) if c.text == sentence]
    assert own.verdict.judgement is Judgement.CONTRADICTED


@pytest.mark.parametrize("text", NOT_FALSE.splitlines())
def test_no_other_sentence_is(text):
    checked = check_own_numbers(read_chart_data(CHART + text))
    assert not [c.text for c in checked if c.verdict.judgement is Judgement.CONTRADICTED]
