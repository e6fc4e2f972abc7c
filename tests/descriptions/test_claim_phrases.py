"""Sentences of many forms about charts whose numbers are known: each is true or false."""

import pytest

from passus.analysis.claim_check import check_own_numbers
from passus.descriptions.point_reader import read_chart_data

RUNS = """# Accuracy on FooBench by step

X-axis: training step, 0 to 500. Y-axis: accuracy, 0 to 1.

* Alpha: step 0: 0.20, step 100: 0.35, step 200: 0.46, step 300: 0.55, step 400: 0.61, step 500: 0.64
* Bravo: step 0: 0.20, step 100: 0.42, step 200: 0.50, step 300: 0.52, step 400: 0.51, step 500: 0.47
* Charlie: step 0: 0.20, step 100: 0.28, step 200: 0.33, step 300: 0.37, step 400: 0.39, step 500: 0.40
* Delta: step 0: 0.25, step 100: 0.26, step 200: 0.25, step 300: 0.24, step 400: 0.26, step 500: 0.25

Observations:

* """
TRUE_OF_RUNS = [
    "Alpha is the top performer at the end of training.",
    "Alpha comes out on top at step 500.",
    "Bravo leads Alpha up to step 200.",
    "Alpha overtakes Bravo between steps 200 and 300.",
    "Bravo is ahead of Alpha at steps 100 and 200.",
    "By step 300, Alpha has moved ahead of Bravo.",
    "Alpha gains 44 points over the run.",
    "Alpha improves more than any other run.",
    "Alpha gains more than twice as much as Charlie.",
    "Bravo peaks at step 300.",
    "Bravo's best checkpoint is the one at step 300.",
    "Bravo is the only line that ends below its peak by more than 4 points.",
    "Two of the four runs end above 0.45.",
    "All but one of the runs end higher than they started.",
    "Only Alpha ends above 0.6.",
    "The final ranking, from best to worst, is Alpha, Bravo, Charlie, Delta.",
    "Bravo finishes second.",
    "Delta is last at the end.",
    "Delta comes in last.",
    "The gap between Alpha and Bravo at step 500 is 17 points.",
    "Alpha finishes 17 points ahead of Bravo.",
    "The gap between Alpha and Charlie widens steadily.",
    "Bravo declines after step 300.",
    "Charlie rises at every step.",
    "Charlie never drops.",
    "Delta is essentially flat.",
    "Alpha is still rising at the end.",
    "Alpha crosses 0.5 between steps 200 and 300.",
    "Alpha passes one half by step 300.",
    "Charlie never reaches 0.5.",
    "Delta stays between 0.24 and 0.26.",
    "Alpha more than triples its initial accuracy.",
    "Charlie doubles its accuracy over the course of training.",
    "At step 100, Bravo is 7 points above Alpha.",
    "From step 300 on, Alpha is the best run.",
    "Bravo loses 5 points between step 300 and step 500.",
    "Bravo gives back 5 points after its peak.",
    "The spread between the best and the worst run at the end is 39 points.",
    "Most of Bravo's gain comes in the first 100 steps.",
    "Half of the runs end above 0.45.",
    "Alpha and Bravo cross once.",
    "Alpha ends more than three times as high as it began.",
    "At the final step, Delta trails Charlie by 15 points.",
    "Alpha beats every other run from step 300 onwards.",
    "Bravo is the first run to exceed 0.4.",
    "Charlie is always below Alpha after step 0.",
    "Nobody gets past 0.65.",
    "Alpha needs 300 steps to get past 0.5.",
    "The advantage of Alpha over Bravo grows from step 300 to step 500.",
    "Delta ends where it started.",
    "Bravo falls in the last 100 steps.",
    "Alpha's largest jump is between steps 0 and 100.",
    "Every run except Delta gains at least 20 points.",
    "Bravo drops below Alpha by step 300.",
]
FALSE_OF_RUNS = [
    "Bravo is the top performer at the end of training.",
    "Charlie comes out on top at step 500.",
    "Bravo leads Alpha up to step 400.",
    "Alpha overtakes Bravo between steps 300 and 400.",
    "Alpha does not overtake Bravo until step 500.",
    "Bravo is ahead of Alpha at steps 100, 200 and 300.",
    "Alpha gains 34 points over the run.",
    "Bravo improves more than any other run.",
    "Bravo peaks at step 200.",
    "Bravo reaches its maximum at the last checkpoint.",
    "Bravo is the only run that ever reaches 0.5.",
    "Three of the four runs end above 0.45.",
    "All runs end higher than they started.",
    "No run ever exceeds 0.6.",
    "The final ranking is Alpha, Charlie, Bravo, Delta.",
    "Bravo finishes third.",
    "The gap between Alpha and Bravo at step 500 is 7 points.",
    "Alpha finishes 27 points clear of Bravo.",
    "The gap between Alpha and Charlie narrows over time.",
    "Bravo keeps rising after step 300.",
    "Bravo rises at every step.",
    "Delta climbs throughout.",
    "Alpha plateaus after step 200.",
    "Alpha is flat from step 100 on.",
    "Alpha crosses 0.5 between steps 100 and 200.",
    "Charlie passes one half by step 300.",
    "Charlie reaches 50% by step 400.",
    "Delta stays below 0.25 throughout.",
    "Charlie more than triples its initial accuracy.",
    "At step 100, Bravo is 17 points above Alpha.",
    "All runs start at the same value.",
    "From step 200 on, Alpha is the best run.",
    "Bravo loses 15 points between step 300 and step 500.",
    "Bravo gives back 12 points after its peak.",
    "The spread between the best and the worst run at the end is 29 points.",
    "Most of Alpha's gain comes after step 300.",
    "The lines never cross.",
    "Delta outperforms Charlie at the end.",
    "At the final step, Delta trails Charlie by 25 points.",
    "Alpha beats every other run at every step after the first.",
    "Alpha is the first run to exceed 0.4.",
    "Charlie is always above Alpha after step 0.",
    "Nobody gets past 0.55.",
    "Everyone except Delta ends above 0.45.",
    "Alpha needs only 100 steps to get past 0.5.",
    "Charlie catches up with Bravo in the end.",
    "Bravo recovers by step 500.",
    "The advantage of Alpha over Bravo shrinks from step 300 to step 500.",
    "Delta ends 10 points higher than it began.",
    "Charlie falls in the last 100 steps.",
    "Bravo's largest jump is between steps 200 and 300.",
    "Exactly three runs finish above 0.45.",
    "Every run gains at least 20 points.",
]
METHODS = """Two panels show pass@1 (%) against epochs 1 to 5 for three methods, Foo, Bar and Baz.

**Left panel: MathSet**

| epoch | Foo | Bar | Baz |
|---|---|---|---|
| 1 | 20.0 | 24.0 | 30.0 |
| 2 | 31.0 | 30.0 | 33.0 |
| 3 | 40.0 | 34.0 | 35.0 |
| 4 | 47.0 | 37.0 | 34.0 |
| 5 | 52.0 | 38.0 | 31.0 |

**Right panel: CodeSet**

| epoch | Foo | Bar | Baz |
|---|---|---|---|
| 1 | 10.0 | 12.0 | 15.0 |
| 2 | 14.0 | 19.0 | 17.0 |
| 3 | 19.0 | 27.0 | 18.0 |
| 4 | 22.0 | 34.0 | 19.0 |
| 5 | 25.0 | 41.0 | 21.0 |

Observations.

"""
TRUE_OF_METHODS = [
    "On MathSet Foo needs three epochs to reach 40%.",
    "On MathSet, Foo finishes first, 14 points ahead of Bar.",
    "Foo wins on MathSet, whereas Bar wins on CodeSet.",
    "Bar gains more on CodeSet than on MathSet.",
    "Foo ends 27 points higher on MathSet than on CodeSet.",
    "Baz starts first on both benchmarks.",
    "On CodeSet every method improves at every epoch.",
    "On MathSet, Baz is the only method that declines at any point.",
    "On MathSet, Baz peaks at epoch 3 and then loses four points.",
    "On CodeSet, Bar more than triples its initial score.",
    "On CodeSet, Bar overtakes Baz between epochs 1 and 2.",
    "In the left panel, Foo rises by 32 points.",
    "In the right panel, no method gets past 45%.",
    "On MathSet, only Foo ends above 40%.",
    "On CodeSet the final order is Bar, Foo, Baz.",
    "Bar's final score is higher on CodeSet than on MathSet.",
    "After epoch 3, Baz falls on MathSet.",
    "Foo's gain on MathSet is about twice its gain on CodeSet.",
    "On MathSet, Foo's improvement is more than twice that of Bar.",
    "On MathSet, the three methods are within 5 points of each other at epoch 2.",
    "On CodeSet, Foo and Baz end 4 points apart.",
    "On MathSet, Baz ends one point above where it started.",
    "Bar trails Foo on MathSet but leads it on CodeSet.",
]
FALSE_OF_METHODS = [
    "On MathSet, Foo finishes first, 24 points ahead of Bar.",
    "Foo wins on both benchmarks.",
    "The same method wins both benchmarks.",
    "Foo gains more on CodeSet than on MathSet.",
    "All three methods end higher on CodeSet than on MathSet.",
    "Baz is the best method at epoch 5 on both benchmarks.",
    "On MathSet every method improves at every epoch.",
    "On MathSet, Baz peaks at epoch 3 and then loses eight points.",
    "The gap between Foo and Bar at epoch 5 is larger on MathSet than on CodeSet.",
    "The final ranking is the same on both benchmarks.",
    "On CodeSet, Baz doubles its initial score.",
    "On CodeSet, Bar overtakes Baz between epochs 3 and 4.",
    "In the left panel, Foo rises by 22 points.",
    "In the right panel, no method gets past 40%.",
    "On MathSet, two of the three methods end above 40%.",
    "On MathSet, Foo is ahead of Baz from epoch 2 on.",
    "On CodeSet the final order is Bar, Baz, Foo.",
    "Foo's final score is higher on CodeSet than on MathSet.",
    "After epoch 3, Baz falls on CodeSet.",
    "On MathSet, the three methods are within 5 points of each other at epoch 5.",
    "On CodeSet, Foo and Baz end 8 points apart.",
    "On MathSet, Baz ends below where it started.",
    "On MathSet, Bar has plateaued after epoch 2.",
    "On MathSet Foo reaches 40% as early as epoch 2.",
    "Bar trails Foo on both benchmarks.",
    "Bar trails Foo on CodeSet but leads it on MathSet.",
]
SCHEDULES = """The chart shows validation loss for three schedules (lower is better) and is described below.

| step | Linear | Cosine | Constant |
|---|---|---|---|
| 0 | 3.20 | 3.20 | 3.20 |
| 1000 | 2.80 | 2.90 | 2.70 |
| 2000 | 2.50 | 2.60 | 2.55 |
| 3000 | 2.35 | 2.30 | 2.60 |
| 4000 | 2.30 | 2.10 | 2.75 |

"""
TRUE_OF_SCHEDULES = [
    "It takes Linear 2000 steps to get to 2.5.",
    "Cosine ends with the lowest loss.",
    "Cosine is the best schedule at the end.",
    "Constant is the best of the three at step 1000.",
    "Constant is the only schedule whose loss rises at any point.",
    "Cosine overtakes Linear between steps 2000 and 3000.",
    "Linear falls below 2.4 by step 3000.",
    "Only Cosine gets below 2.2.",
    "Cosine's loss drops by 1.1 over the run.",
    "Constant reaches its minimum at step 2000.",
    "The loss of Linear never increases.",
    "Constant ends 0.65 above Cosine.",
    "Linear is ahead of Cosine at steps 1000 and 2000.",
    "Linear loses its lead over Cosine after step 2000.",
    "Cosine is the worst schedule at step 1000 but the best at step 4000.",
    "Constant gets worse after step 2000.",
    "Linear is still improving at step 4000.",
    "All schedules start from the same loss.",
    "In the last 1000 steps Linear improves by only 0.05.",
    "Linear learns more in the first half of training than in the second.",
    "The final loss of Constant is higher than its loss at step 1000.",
    "At no point does Constant fall below 2.5.",
    "Linear finishes second.",
    "The difference between the best and the worst schedule at the end is 0.65.",
    "Two of the three schedules end below 2.5.",
    "Cosine improves at every evaluation.",
    "Constant is overtaken by Linear between steps 1000 and 2000.",
    "Linear overtakes Constant by step 2000.",
    "Linear and Cosine cross once.",
    "Constant gives up 0.2 between step 2000 and the end.",
    "Four of Cosine's five readings are below 3.",
    "From step 3000 on, Cosine leads.",
    "Cosine gains more than any other schedule.",
    "Half of Cosine's total drop has been made by step 2000.",
]
FALSE_OF_SCHEDULES = [
    "Linear ends with the lowest loss.",
    "Constant is the best schedule at the end.",
    "Linear's loss goes up at the end.",
    "Cosine overtakes Linear between steps 1000 and 2000.",
    "Linear falls below 2.4 by step 2000.",
    "All three schedules get below 2.5.",
    "Cosine's loss drops by 0.6 over the run.",
    "Constant reaches its minimum at step 1000.",
    "The loss of Constant never increases.",
    "Constant ends 0.35 above Cosine.",
    "At step 4000 the ranking is Linear, Cosine, Constant.",
    "Constant keeps improving after step 2000.",
    "The schedules start from different losses.",
    "In the last 1000 steps Linear improves by 0.20.",
    "Linear learns less in the first half than in the second half.",
    "Constant is lower than Linear throughout.",
    "The final loss of Constant is lower than its loss at step 1000.",
    "Constant finishes second.",
    "The difference between the best and the worst schedule at the end is 0.2.",
    "Three schedules end below 2.5.",
    "Only one of the three schedules ends below 2.5.",
    "Cosine plateaus after step 2000.",
    "Constant improves at every evaluation.",
    "Linear is overtaken by Constant between steps 2000 and 3000.",
    "Linear and Cosine never cross.",
    "Constant gives up 0.4 between step 2000 and the end.",
    "From step 2000 on, Cosine leads.",
    "It takes Cosine 2000 steps to get to 2.3.",
    "Constant gains more than Linear.",
]
NOT_WHOLLY_READ = [
    (METHODS, "On MathSet, Foo is behind Baz at epochs 1 and 2 but ahead from epoch 3 on."),
    (METHODS, "The gap between Foo and Bar at epoch 5 is 14 points on MathSet and 16 points on CodeSet."),
    (SCHEDULES, "At step 4000 the three schedules rank Cosine, Linear, Constant."),
]
"""True sentences of which a part is not understood: they are not called supported."""
SENTENCES = [
    (chart, sentence, verdict)
    for chart, true, false in (
        (RUNS, TRUE_OF_RUNS, FALSE_OF_RUNS),
        (METHODS, TRUE_OF_METHODS, FALSE_OF_METHODS),
        (SCHEDULES, TRUE_OF_SCHEDULES, FALSE_OF_SCHEDULES),
    )
    for verdict, sentences in (("supported", true), ("contradicted", false))
    for sentence in sentences
] + [(chart, sentence, "untestable") for chart, sentence in NOT_WHOLLY_READ]


@pytest.mark.parametrize("chart, sentence, verdict", SENTENCES, ids=[sentence for _, sentence, _ in SENTENCES])
def test_verdict(chart, sentence, verdict):
    checked = check_own_numbers(read_chart_data(f"{chart}{sentence}\n"))
    (own,) = [c for c in checked if c.text == sentence]
    assert own.verdict.judgement == verdict
