"""The words of a claim, reduced to few: "finishes ahead of" becomes "END BETTER"."""

import re
from collections.abc import Callable

from passus.descriptions import verb_forms as verbs

PLACES_IN_RANKING = {
    "first": "BEST", "top": "BEST", "second": "RANK2", "third": "RANK3", "fourth": "RANK4", "fifth": "RANK5", "last": "WORST",
    "bottom": "WORST",
}  # fmt: skip
TO_VALUE = r"(?= (?:the |an? |one )?(?:[a-z-]+ ){0,2}?(?:«V\d+»))"
RULES: tuple[tuple[str, str], ...] = (
    (r"\b\w+n't\b", " NOT "),
    (r"\b(?:increments?|gains per [a-z]+|stepwise gains)\b", " IMPROVES "),
    (r"\b(?:reductions?|shrinkage|downturns?)\b", " FALLS "),
    (r"\b(?:strictly|uninterruptedly)\b", " MONO "),
    (
        r"\b(?P<what>gap|distance|difference|margin|advantage|lead|spread)\b(?P<rest>[^,;]{0,60}?) (?:is|was|reaches"
        r"|reached|has|had|peaks?"
        r"|peaked)(?: (?:at|«O\d+»|its|the))*(?: (?:widest|largest|greatest|maximum|highest))?(?= «X\d+»\W*$)", " GAPTOP "),
    (
        r"\b(?:falls?|fell|fallen|drops?|dropped|slips?|slipped|sinks?|sank|slid"
        r"|slides?)(?: back)? (?:in)?to (?:the )?(?:very )?"
        r"(?=(?:last|second|third|fourth|fifth|bottom) (?:place|rank|position|spot)\b)", " is in "),
    (r"\b(?:closer|nearer) to\b(?= (?:the |that of )?«[SI])", " CLOSER "),
    (
        r"\b(?:since|after|from|past|beyond) (?:«O\d+»|the|its) (?:own )?(?:maximum|peak|best|top|high(?: point)?|summit"
        r"|highest"
        r"|optimum)\b(?: (?:value|score|accuracy|point|level|result))?", " FROMPEAK "),
    (r"\bto an? (?:local |first |second |new |small |brief )?(?:peak|maximum|high|low|trough|minimum) of\b", " to "),
    (r"\b(?:takes?|took|taking) over the lead\b", " BEST "),
    (r"\b(?:gains?|gained|adds?|added) nothing\b|\bmakes? no (?:gains?|headway)\b", " FLAT "),
    (r"\bin the middle\b(?! of)|\bthe (?:very )?last (?:one |run |method |of [^,;.]{1,30} )?to\b", " MIDDLE "),
    (r"\bthe same(?= (?:as|at|on|in)\b)", " SAME "),
    (r"\bno (?=(?:better|worse|higher|lower|more accurate|longer|shorter) than\b)", " NOT "),
    (r"\b(?:most|more) (?:accurate|capable|successful)\b(?! than)", " best "),
    (r"\bleast (?:accurate|capable|successful)\b", " worst "),
    (r"\b(?:briefest|tersest)\b", " shortest "),
    (r"\bamount(?:s|ed|ing)?(?: to)?\b(?= (?:about |only |just |some )?«|$)", " is "),
    (r"\bimprov(?:es?|ed|ing) (?:up)?on\b(?= (?:the |its |that )?(?:«[SIO]|initial|base|starting))", " BETTER "),
    (
        r"\b(?:is|are|was|were|be)? ?separated(?: by)?(?= «D)|\bdiffer(?:s|ed)?(?: from (?:each other|one another))?(?: by)?"
        r"(?= «D)", " APART "),
    (r"\blower(?:s|ed|ing)(?= (?:its|the|their|«O))", " FALLS "),
    (r"\b(?:is|are|was|were) disjoint\b", " NOT OVERLAPS "),
    (r"\b(?:at |in )?(?:the )?bottom of the (?:pile|heap|table|ranking|list|pack|field|chart|class)\b"
        r"|\blowermost\b", " WORST "),
    (
        r"\b(?:out )?(?:in front|in the lead|in first place|in pole position)\b"
        r"(?= *(?:$|[,.;]|«[XP]|from\b|until\b|throughout\b|by\b|after\b|all\b))", " BEST "),
    (r"\b(?:the )?(?:uppermost|topmost)(?: one)?\b", " HIGHEST "),
    (r"\b(?:(?P<down>lower|smaller|shorter)|higher|larger|longer) (?:at|in|on|after) (?:each|every)\b[^,;]{0,25}? than"
        r" (?:at |in |on |after )?(?:the )?(?:one |previous|preceding|last)(?: one)?(?:before(?: it)?)?", " CHANGED_STEP "),
    # Fixed phrases before single words.
    (r"\b(?:from |at |with |in )?(?:\w+ )?(?:different|distinct|unequal) (?:values?|loss(?:es)?|levels?|scores?|points?"
        r"|accuracies|heights?|places)\b", " NOT SAME "),
    (r"\b(?:is|are|was|were|becomes?|became) (?:the )?(?:very )?first (?:one |method |run |model |line |curve )?(?:(?:of"
        r"|among) [^,;.]{1,30} )?to\b", " FIRSTTO "),
    (r"\b(?:the )?(?:top|best|strongest) performer\b|\bthe (?:champion|frontrunner|front-runner)\b", " BEST "),
    (r"\b(?:the )?(?:worst|weakest|poorest) performer\b", " WORST "),
    (r"\b(?:at|on|in) no (?:single )?(?:[a-z]+)\b", " NEVER "),
    (r"\bat (?:the )?(?:same )?level (?:of|as)\b(?= (?:the )?«[SI])", " SAME "),
    (r"(?P<amount>«D\d+») over(?: that of)?(?= (?:the )?«[SI])", r"\g<amount> BETTER"),
    (r"\bspread\b(?! out)", " SPREAD "),
    (r"\b(?:starts?|started|begins?|began|proceeds?|goes on|went on|continues?|manages?|managed|seems?|appears?) to"
        r" (?=[a-z])", " "),
    (
        r"\b(?P<verb>go(?:es)?|went|going|gone|moves?|moved|comes?|came|turns?|turned|heads?|headed|creeps?|crept|drifts?|drifted)"
        r" (?:back|right|straight|again|slightly|sharply|steadily|slowly|gradually|only|even|always|further|a (?:little|bit)) "
        r"(?P<way>up|down)\b", r" \g<verb> \g<way> "),
    (r"\b(?:is|was|are|were|ends?|ended|finish(?:es|ed)?) up(?: by)? (?=«[DR]\d+»(?! (?:clear|ahead|behind|above"
        r"|below|short|better|worse|in front|apart)))", " RISES "),
    (r"\b(?:is|was|are|were|ends?|ended|finish(?:es|ed)?) down(?: by)? (?=«[DR])", " FALLS "),
    (
        r"\b(?:stay(?:s|ed)?|remain(?:s|ed)?|is|are|was|were|keeps?|kept) (?:much |roughly |about |exactly |almost |nearly"
        r" |basically "
        r"|essentially |largely |practically )?(?:the same|alike|as (?:it|they) (?:is|was|were))\b(?= *(?:$|[,.;]|«[XP]"
        r"|throughout|for|from|over))",
        " FLAT "),
    (
        r"\bcross(?:es|ed|ing)? (?:above|over|past|ahead of)\b(?: that of)?(?= (?:the )?«[SIO])", " OVERTAKES "),
    (
        r"\b(?:has |have |had )?(?:fully |completely |entirely )?(?:recover(?:s|ed)|bounce[sd]? back)\b(?: from"
        r" [^,;«]{1,30}$| from (?:this|that|it)\b"
        r"| (?:all of )?(?:the|its|«O\d+») (?:lost ground|loss(?:es)?|peak))?|\bregain(?:s|ed)? (?:the|its|«O\d+») (?:peak"
        r"|best|old level|former level)\b"
        r"|\bmade up (?:all )?(?:of )?the lost ground\b", " RECOVERS "),
    (
        r"\b(?:from )?(?:the )?(?:top|highest|best)(?: (?:one|line|curve|method))? (?:to|down to) (?:the )?(?:bottom"
        r"|lowest|worst)\b", " ORDER "),
    (
        r"\b(?:become|became|becomes|becoming|get|gets|got|getting|grown?|grew|grows|turned|turns) (?:slightly |much "
        r"|somewhat |a little |a bit "
        r"|considerably |visibly |steadily |ever |significantly |noticeably )?(?:(?P<down>shorter|smaller|lower)|(?:longer"
        r"|larger|higher|bigger))\b(?! than)",
        " CHANGED "),
    (
        r"\b(?:become|became|becomes|becoming|got|getting|grown?|grew|grows|turned|turns) (?:slightly |much |somewhat |a"
        r" little |a bit "
        r"|considerably |steadily |ever )?(?:(?P<down>worse|weaker)|(?:better|stronger))\b(?! than)", " CHANGED_FOR "),
    (r"\b(?:lower|less|shorter) is better\b|\bat (?:least|most)\b(?! «)", " "),
    (
        r"\b(?:without|with no) (?:a single |any )?(?:interruption|drop|dip|decline|setback|fall|exception"
        r"|reversal)s?\b", " MONO "),
    (
        r"\b(?:in|over|with|at|from) (?:every|each) (?:single |further )?(?:interval|row|reading|evaluation|doubling"
        r"|increase|epoch|step|checkpoint|eval|point|hour|update|iteration"
        r"|half-epoch)(?: of (?:the )?\w+)?(?: to (?:the )?next(?: one)?)?\b(?! (?:later|after|where|from|up))", " MONO "),
    (
        r"\bbetween (?:any )?(?:two )?(?:neighbou?ring|adjacent|consecutive|successive) [a-z]+\b"
        r"|\bwith (?:every|each) (?:additional |further |new |single |added )?[a-z]+\b(?! of)", " MONO "),
    (
        r"\bfrom (?:one|each|every)(?: \w+){1,2} to the (?:next|other)(?: one)?\b|\bbetween (?:any )?(?:two )?(?:neighbou?ring "
        r"|adjacent |consecutive |successive )?(?:points?|checkpoints?|evaluations?|evals?|markers?|readings?|rows?"
        r"|entries|steps?|epochs?)\b|\bfrom (\w+) to \1\b", " MONO "),
    (r"\bbrings? up the rear\b|\bpropping up the \w+\b", " WORST "),
    (r"\b(?:closest|nearest)(?: together| to each other| to one another)?\b(?! to)", " LOWEST GAP "),
    (r"\b(?:furthest|farthest|most widely) (?:apart|separated)\b", " HIGHEST GAP "),
    (
        r"\b(?:hardly|barely|scarcely) (?:chang|mov|improv|var)\w+\b(?! by| «D)|\b(?:does|do|did) (?:hardly|barely) \w+\b"
        r"(?! by| «D)|\b(?:shows?|makes?) (?:hardly|barely) any (?:change|movement|improvement|progress)\b", " FLAT "),
    (
        r"\b(?:has |have |is |are |was )?(?:fully |completely |all the way |right |only )*(?:return(?:s|ed)?|back|reverts?"
        r"|reverted|fell back|falls? back) to (?:\S+ )?(?:exactly )?(?:where «[IS]\d+» (?:started|began|starts)"
        r"|«O\d+» (?:own )?"
        r"(?:start(?:ing)?|initial|original|first)(?: (?:value|level|point|accuracy|reward|loss|score|entropy"
        r"|pass@1|length))?)\b",
        " BACKTOSTART ",
    ),
    (r"\b(?:goes|went|belongs) to (?=«S)", " BEST "),
    (r"\b(?:made|makes?|making) (?:it|«I\d+») to\b", " REACHES "),
    (r"\bpasses from below to above(?: that of)?\b", " OVERTAKES "),
    (r"\bnever leaves the (?:region|area|band|zone)\b", " is "),
    (
        r"\b(?:(?P<down>lower|smaller|shorter)|higher|larger|longer) than the (?:one|evaluation|value|reading|eval|score"
        r"|checkpoint) before(?: it)?\b",
        " CHANGED_STEP "),
    (r"\bworse than the one before\b", " WORSENS MONO "),
    (r"\bbetter than the one before\b", " IMPROVES MONO "),
    (r"\bmonoton\w+\b|\bsteadily\b(?= up| down)|\bconsecutive\w*\b", " MONO "),
    (
        r"\bnever (?:once |ever )?(?:goes|went|go|moves?|slips?|steps?) (?:down|back(?:wards?)?)\b"
        r"|\bnever (?:once )?(?:drops?|falls?|declines?|dips?|decreases?|loses? ground|regresses)\b(?! (?:below|under"
        r"|behind|to|back|more|by))", " RISES MONO "),
    (r"\bnever (?:once |ever )?(?:rises?|increases?|climbs?|goes up|recovers?)\b(?! (?:above|over|past|to))", " FALLS MONO "),
    (r"\bnever (?:once |ever )?(?:took|takes?|taking) a step back(?:wards?)?\b|\bnever (?:lost"
        r"|loses) ground\b", " RISES MONO "),
    (r"\bnever (?:have|has|had) a bad \S+", " RISES MONO "),
    (r"\bwent backwards?\b|\bgoes backwards?\b", " WORSENS "),
    (r"\b(?:has|have|had) (?:given|gives?) (?:up|back) everything(?: \S+ (?:had )?gained)?\b", " BACKTOSTART "),
    (
        r"\bgoes up and down\b|\bup and down\b|\bzigzags?\b|\boscillat\w+|\bfluctuat\w+|\bwobbl\w+|\bjagged\b"
        r"|\berratic(?:ally)?\b|\bvolatile\b|\bnois(?:y|ier)\b", " NOISY "),
    (
        r"\b(?:is|are|was|were|looks?|runs?|stays?)? ?(?:smooth|smoother|steadier|more stable|less noisy|less volatile"
        r"|more steady)\b", " STEADY "),
    (
        r"\bmakes? no (?:more |further )?progress\b|\b(?:has|have|had) stopped (?:improving|rising|growing|learning)\b"
        r"|\bstops? (?:improving|rising|growing|learning)\b|\bno longer (?:improves?|rises?|changes?)\b"
        r"|\bdoes not (?:improve|change|rise)(?: any)?(?: more| further)?\b(?! by| «D)|\bbuys? (?:\S+ )?nothing\b"
        r"|\bshows? no (?:further )?improvement\b", " FLAT "),
    (
        r"\b(?:is|are|was|were) (?:done|finished|through with) (?:learning|improving|climbing|growing)\b"
        r"|\bshows? (?:no|hardly any|little) (?:movement|progress|change)\b(?: worth mentioning)?|\b(?:has |have "
        r"|had )?run out of steam\b"
        r"|\b(?:is|are|was|were) (?:basically |practically )?(?:standing still|at a standstill)\b|\b(?:stands?|stood) still\b"
        r"|\b(?:has |have |had )?dried up\b|\b(?:is|are|was) on a plateau\b", " FLAT "),
    (r"\bno longer\b", " NOT "),
    (r"\bno (?=(?:\w+ )?(?:decline|drop|dip|fall|increase|rise|improvement|regression|decrease|gain|setback)s?\b)", " NOT "),
    (r"\bfar from (?:saturated|flat)\b", " "),
    (
        r"\bnot saturated\b|\bis still (?:rising|growing|climbing)\b|\bstill (?:rising|growing"
        r"|climbing)\b", " RISES "),
    (r"\b(?:keeps?|kept) (?:on )?(?:improving|gaining|learning)\b|\bcontinue[sd]? (?:to (?:improve|gain)|improving"
        r"|gaining)\b", " IMPROVES MONO "),
    (r"\b(?:is |are |was |were )?still (?:improving|gaining|learning|getting better)\b", " IMPROVES "),
    (
        r"\bkeeps? (?:on )?(?:improving|rising|growing|climbing|increasing)\b|\bcontinues? (?:to (?:improve|rise|grow"
        r"|climb|increase)|improving|rising|growing|climbing)\b", " RISES MONO "),
    (
        r"\bkeeps? (?:on )?(?:falling|declining|dropping|decreasing|shrinking)\b|\bcontinues? (?:to (?:fall|decline"
        r"|drop|decrease)|falling|declining)\b", " FALLS MONO "),
    (r"\bgets? (?:shorter|smaller|lower)\b|\bbecomes? (?:shorter|smaller|lower)\b", " FALLS "),
    (r"\bgets? (?:longer|larger|higher|bigger)\b|\bbecomes? (?:longer|larger|higher|bigger)\b(?! than)", " RISES "),
    (r"\bgets? (?:better)\b|\bbecomes? better\b", " IMPROVES "),
    (r"\bgets? worse\b|\bbecomes? worse\b", " WORSENS "),
    (
        r"\b(?:the )?(?:narrowest|smallest|tightest|shortest) (?:error bars?"
        r"|bands?|intervals?|standard deviations?)\b",
        " LOWSPREAD ",
    ),
    (
        r"\b(?:the )?(?:widest|largest|broadest|longest) (?:error bars?"
        r"|bands?|intervals?|standard deviations?)\b",
        " HIGHSPREAD ",
    ),
    (r"\b(?:the )?(?:error bars|bands|intervals)\b(?: (?:of|for)\b)?", " BARS "),
    (r"\boverlap(?:s|ped)?\b", " OVERLAPS "),
    (
        r"\b(?:than |from )?(?:that of )?(?:the |«O\d+» )?(?:base model|SFT (?:checkpoint|model|policy)(?: «I\d+» (?:started"
        r"|starts|came|comes|begins|began) (?:from|with))?|initial (?:checkpoint|value|accuracy|score"
        r"|reward|loss|entropy|length|level|one|point|\w+ accuracy)|starting (?:point|value|level)|first (?:value"
        r"|reading|one|checkpoint)|(?:value|level|one) (?:with|at|from) which)\b", " START "),
    (r"\bg(?:ives?|ave|iven|iving) (?:back|up)\b(?! everything)", " WORSENS FROMPEAK "),
    (r"\bafter (?:the|an|its) initial (?:rise|climb|increase|jump|ramp(?:-up)?|phase)\b", " "),
    (rf"\b(?:{verbs.PASSES}){TO_VALUE}", " PASSES "),
    (rf"\b(?:{verbs.UNDERCUTS}){TO_VALUE}", " UNDERCUTS "),
    # Crossing.
    (
        rf"\b(?:has |have |had )?(?:already |just )?(?:overtak\w+|overtook|surpassed|{verbs.OVERTAKES}|pull\w* (?:past"
        rf"|ahead of|away from)"
        r"|mov\w+ past|g[eo]ts? past(?= «[SI])|slip\w* past|(?:goes|gone|go|went|going) past|pass(?:es"
        r"|ed)?(?= (?:«S\d+»|«I\d+»))"
        r"|(?:left|leaves|leaving) (?:«I\d+»|«S\d+»)(?: line| curve| run| model)? behind|leap\w* over"
        r"|edg\w+ (?:past|ahead of)|tak\w+ over(?: from)?"
        r"|took over(?: from)?|(?:becomes?|became) (?:longer|higher|better|larger) than|climb\w* (?:past"
        r"|above)(?= (?:«S\d+»|«I\d+»))|ris\w+ above(?= (?:«S\d+»|«I\d+»)))", " OVERTAKES "),
    (
        r"\b(?:swap\w*|switch\w*|trad\w+|exchang\w+|revers\w+) (?:places|positions|order|the lead)\b|\bcross(?:es|ed"
        r"|ing)?\b(?! over)?(?: over)?(?: each other)?|\bintersect\w*\b|\bcrossover\b", " CROSSES "),
    (
        r"\bcatch(?:es)? up(?: with| to)?\b|\bcaught up(?: with| to)?\b|\bdraws? level(?: with)?\b"
        r"|\bdrew level(?: with)?\b|\bclos(?:es?|ed) the gap(?: to| with)?\b", " CATCHES "),
    (r"\bmeets?\b(?: each other)?", " MEETS "),
    (r"\bfalls? back to\b|\bdrops? to\b(?= (?:RANK|second|third|last|fourth))", " is "),
    # Places in the ranking.
    (
        r"\b(?:the )?(?:leaderboard|ranking|field|pack|list|standings|table|order) (?:is|was) (?:headed|led|topped) by\b"
        r"|\b(?:heads?|headed|tops?|topped|leads?|led) the (?:leaderboard|ranking|field|pack|list|standings|table|way)\b"
        r"|\b(?:is|was) (?:the )?(?:front-?runner)\b", " BEST "),
    (
        r"\b(?:in |at |takes? |took |into )?(?:the )?(?:first place|number one|top spot|top position|pole position)\b"
        r"|\btakes? the (?:crown|lead)\b|\bis (?:the leader|in the lead|in front|on top|first)\b(?! of)|\bcomes? (?:out"
        r"|in) first\b|\bwins (?:first|on top)\b|\bholds? first place\b|\b(?:the )?leader\b"
        r"|\bnatural favourite\b", " BEST "),
    (
        r"\bdead last\b|\b(?:in |at )?(?:the )?last place\b|\b(?:is|comes?(?: in)?|came(?: in)?|was"
        r"|ranks) last\b|\brock bottom\b|\bat the bottom\b(?! of the (?:page|post|figure|chart))|\btrails? the (?:pack"
        r"|field)\b", " WORST "),
    (
        r"\b(?P<verb>is|are|was|were|be|comes?|came|come|finish(?:es|ed)?|ends?|ended|ranks?|ranked|places?|placed|starts?"
        r"|started|begins?|began|lands?|landed|stays?|stayed|remains?|remained|sits?|lies|goes|went)"
        r"(?: (?:up|out|in|off|home|only|just|still|now|then|a close|a distant|clear|clearly|dead|the|at))*"
        r" (?P<nth2>first|second|third|fourth|fifth|last)\b(?! (?:to|half|of|two|three|four|\d|time|in line|«[VSI]|and the)"
        r"|-| (?!and|on|at|in|by|after|before|throughout|overall|with|until|from|as|but|here|there|behind|every)[a-z]+)",
        " RANK ",
    ),
    (
        r"\b(?:in |at |takes? |to |the )*(?:the )?(?P<nth>second|third|fourth|fifth)[- ](?:place|best|position|rank"
        r"|highest)\b", " RANK "),
    # Extremes.
    (
        r"\b(?:peaks?|peaked|peaking|tops? out|topped out|max(?:es|ed)? out|culminates?|reach(?:es|ed)? (?:«O\d+»|a"
        r"|the) (?:overall )?(?:maximum|peak|best|highest(?: \w+)?|top(?: \w+)?|high point|largest value)"
        r"|has «O\d+» (?:maximum|peak|best \w+)|(?:is|was) at «O\d+» (?:best|peak|highest|maximum)|hits? (?:a"
        r"|«O\d+») (?:peak|high|maximum))\b", " PEAKS "),
    (
        r"\b(?:bottoms? out|bottomed out|reach(?:es|ed)? (?:«O\d+»|a|the) (?:minimum|lowest(?: \w+)?|trough|low)"
        r"|has «O\d+» (?:minimum|lowest \w+)|(?:is|was) at «O\d+» (?:worst|lowest|minimum)|hits? (?:a|«O\d+») (?:low"
        r"|trough|minimum))\b", " TROUGHS "),
    # Relations.
    (
        r"\b(?:more than |less than )?(?:in front of|ahead of|ahead|in front|out in front|outperform\w*|beats?|beat"
        r"|outscor\w*|{verbs.BETTER}|lead(?:s|ing)?(?= (?:«S\d+»|«I\d+»|the|all|every|both|«B))|led(?= )|dominat\w*|outpac\w*"
        r"|superior to|clear of|more accurate(?: than)?|better(?: than)?|stronger(?: than)?|has the (?:upper hand"
        r"|edge) over|wins against|does better than|fares better than)\b", " BETTER "),
    (
        rf"\b(?:(?:{verbs.WORSE}) behind|behind|{verbs.WORSE}|inferior to|loses? to|less accurate(?: than)?"
        r"|worse(?: than)?|weaker(?: than)?|falls? short of|short of(?= «S))\b", " WORSE "),
    (
        r"\b(?:above|exceed(?:s|ing|ed)?|surpass(?:es|ing)?|higher(?: \w+)? than|greater(?: \w+)? than"
        r"|larger(?: \w+)? than|longer(?: \w+)? than|on top of|(?:a )?higher|longer|(?:rises? |goes? |gets? "
        r"|makes? it )?past(?= «V)|(?:goes? |rises? |climbs? )?beyond(?= «V)|over(?= «V)|more than(?= «V)"
        r"|tops(?= «[SV])|upwards of|taller than)\b", " ABOVE "),
    (
        r"\b(?:below|under|beneath|lower(?: \w+)? than|smaller(?: \w+)? than|shorter(?: \w+)? than|less than(?= «V)"
        r"|(?:a )?lower|shorter|fewer(?= «V)|underneath)\b", " BELOW "),
    (
        r"(?<=[»\w])(?P<times> «R\d+»| «F\d+») (?:as )?(?:much|many|large|big|wide|great|accurate|high"
        r"|good)(?: \w+)? as\b(?= (?:«|the |that"
        r"|those|any|it))",
        r"\g<times> MORE THAN"),
    (
        r"\b(?:less|more slowly|slower|smaller|fewer|less (?:quickly|rapidly|steeply|sharply|strongly))\b"
        r"(?=[^,;]{1,80}?\bthan\b)", " LESS "),
    (
        r"\b(?:more|faster|quicker|larger|bigger|greater|wider|more (?:quickly|rapidly|steeply|sharply|strongly))\b"
        r"(?=[^,;]{0,80}?\bthan\b)", " MORE "),
    (r"(?<=\b(?:MORE|LESS) )(?P<between>[^,;]*?)\bthan\b", r" \g<between> THAN "),
    (r"\b(?:highest|largest|greatest|maximum|maximal|longest|biggest|widest|broadest|steepest|sharpest|most)\b", " HIGHEST "),
    (r"\b(?:lowest|smallest|minimum|minimal|shortest|narrowest|tightest|slimmest|least|fewest)\b", " LOWEST "),
    (r"\b(?:best|strongest|wins?(?![- ]rate)|winner|topmost|tops|top|leads?(?= (?:on|in|at|«P|«X)|\W*$))\b", " BEST "),
    (r"\b(?:worst|weakest|poorest)\b", " WORST "),
    (r"\b(?:fastest|quickest)\b", " FASTEST "),
    (r"\b(?:slowest)\b", " SLOWEST "),
    (
        r"\b(?:coincides?|identical|the same (?:\w+ )?(?:accuracy|value|score|reward|level|length|point|loss|start"
        r"|starting point)|equal(?: length)?|a common (?:point|value|start)|level with|finish level|(?:are|is|start"
        r"|starts|begin|finish|end) (?:level|equal|tied)|tied?|indistinguishable|cannot be told apart|on par(?: with)?"
        r"|overlap)\b", " SAME "),
    (r"\b(?:converg\w+|draw\w* closer together|come together|approach each other)\b", " CONVERGES "),
    (r"\b(?:diverg\w+|fan\w* out|drift\w* apart|spread\w* out)\b", " DIVERGES "),
    # Courses.
    (rf"\b(?:{verbs.IMPROVES}|improvement|makes? progress|made progress)\b", " IMPROVES "),
    (rf"\b(?:{verbs.WORSENS}|degradation|deterioration|regressions?)\b", " WORSENS "),
    (rf"\b(?:{verbs.RISES}|growth|upwards?|won|slow riser|riser)\b", " RISES "),
    (rf"\b(?:{verbs.FALLS}|downwards?|downhill)\b", " FALLS "),
    (r"\b(?:keeps?|kept|keeping|continu(?:es?|ed|ing))(?: on| to)?\s+(?=(?:RISES|FALLS|IMPROVES|WORSENS)\b)", " MONO "),
    (
        r"\b(?:flat(?:tens?(?: out| off)?)?|(?:levels?|levell?ed|levell?ing) (?:off|out)|plateaus?|plateaued|reach(?:es"
        r"|ed)? a plateau|stagnat\w+|saturat\w+|stable|constant|horizontal|unchanged|stays? put|stalls?|stalled"
        r"|nearly horizontal|hover\w*|stabili[sz]\w+)\b", " FLAT "),
    (r"\b(?:chang(?:es?|ed|ing)|mov(?:es?|ed|ing)|var(?:y|ies|ied))\b", " CHANGES "),
    # Ends of a curve.
    (
        r"\b(?:ends?(?: up| off)?|ended|ending|finish(?:es|ed)?|terminates?|closes?|winds? up|lands?|concludes?"
        r"|final(?:ly)?|last)\b", " END "),
    (
        r"\b(?:starts?(?: off| out)?|started|starting|begins?|began|begun|opens?|leaves? from|initial(?:ly)?"
        r"|leave from)\b", " START "),
    (r"\b(?:apart|separates?|from each other|from one another)\b", " APART "),
    (r"\b(?:gap|distance|difference|margin|advantage|lead|separation)\b", " GAP "),
    (r"\b(?:narrow(?:s|ed|ing)?|dwindl(?:es?|ed|ing)|closes|closing)\b", " NARROWS "),
    (r"\b(?:widen(?:s|ed|ing)?|broaden(?:s|ed)?|opens? up|opened up)\b", " WIDENS "),
    (r"\bminus\b", " MINUS "),
    (r"\b(?:order(?:ing)?|ranking|ranked|sequence)\b|\branks?\b(?= (?:as )?(?:follows:? )?«S)", " ORDER "),
    (r"\b(?:reverse|inverted|inverse|opposite|flipped)\b", " REVERSE "),
    (r"\b(?:never|not once|at no (?:point|time))\b", " NEVER "),
    (r"\b(?:not|no longer|doesn't|does not|do not|don't|isn't|is not|cannot|nor|fails? to|failed to|hardly"
        r"|scarcely|without ever)\b", " NOT "),
    (r"\b(?:only|sole|solely)\b", " ONLY "),
    (r"\bwithin\b", " WITHIN "),
    (rf"\b(?:{verbs.REACHES})\b", " REACHES "),
    (
        r"\b(?:stayed|remained|sat|lay|stood|held(?: on)?|wrote|ran|performed|managed|stays?|remains?|sits?|lies|lie"
        r"|stands?|holds?(?: on)?|keeps?|is|are|was|were|be|been|being|has|have|had|does|do"
        r"|did|'s|'re|seems?|appears?|looks?|runs?|gets?|got|goes|went|gone|comes?|came|becomes?|shows?|exhibits?|displays?"
        r"|performs?|scored|gives?|produces?|writes?|needs?|needed|takes?|took|requires?|required|obtains?|scores?|records?|yields?|makes?|enjoys?|uses?"
        r"|posts?|achiev(?:es?|ed)|demonstrat(?:es?|ed)|manag(?:es?|ed)"
        r"|solv(?:es?|ed)|lets?|allows?|occup(?:y|ies)|brings?)\b", " is "),
)  # fmt: skip
FILLERS = re.compile(
    r"\b(?:that said|true(?=,)|honestly|love it|without (?:any |much )?(?:drama|fuss|trouble|surprises?)"
    r"|including the (?:last|first) one|including|towards?"
    r"|also|still|even|already|nevertheless|nonetheless|however|moreover|furthermore|thus|clearly|indeed|actually"
    r"|again|then|now|meanwhile|in fact|of course|in turn|on the other hand"
    r"|by contrast|in contrast|for its part|as a consequence|as a result|therefore|interestingly|notably|again|simply"
    r"|just|really|quite|rather|somewhat|slightly|well|considerably|significantly|clearly"
    r"|rapidly|quickly|slowly|sharply|gradually|steadily|substantially|markedly|dramatically|marginally|comfortably"
    r"|easily|visibly|noticeably|slight|sharp|steep|gradual|significant|substantial"
    r"|far|much|by far|funny enough|so|and|yes|lol|tbf|hm|ok|yeah|but|although|though|while|whereas|yet|because|since|a"
    r"|an|the|its own|own|overall|roughly|about|approximately|almost|nearly|essentially|practically"
    r"|(?:one )?of (?:all )?(?:two|three|four|five|six|seven|eight)"
    r"|of (?:the|these|those|all)(?: the)? (?:two|three|four|five|six|seven|eight)(?=\W*$| (?:at|on|in|by|after|to|from"
    r"|throughout|and)\b)"
    r"|a little|sadly|firstly|secondly|thirdly|(?:first"
    r"|second|third|yes|hm|right)(?=,)"
    r"|in summary|moreover|in turn|completely|a bit|bit|largely|no doubt"
    r"|of (?:each|one) (?:an)?other|at once"
    r"|that|which|who|there|here|too|right|somewhere|once|ever|as|both|of course|despite|in spite of|on average"
    r"|eventually|basically|mostly|largely|only slightly|by comparison|for example|instead|in particular|later|early on"
    r"|at that point|to|again)\b",
    re.I,
)


MANNER = re.compile(
    r"\b(?:steadily|slightly|gradually|slowly|quickly|rapidly|sharply|strongly|noticeably|clearly|visibly|considerably"
    r"|significantly|substantially|markedly|dramatically|smoothly|gently|suddenly|comfortably|easily|narrowly|surely)"
    r" (?!up\b|down\b)", re.I)  # fmt: skip
"""Adverbs that stand between a verb and what belongs to it: "gets steadily worse"."""


def _changed(match: re.Match[str]) -> str:
    return " FALLS " if match["down"] else " RISES "


def _changed_step(match: re.Match[str]) -> str:
    return " FALLS MONO " if match["down"] else " RISES MONO "


def _changed_for(match: re.Match[str]) -> str:
    return " WORSENS " if match["down"] else " IMPROVES "


def canonical(text: str) -> str:
    """Returns the text with its words reduced. Tokens of marked parts stay as they are."""
    text = re.sub(r"\s+", " ", MANNER.sub("", re.sub(r"(?<=»)'s?\b", "", text)))
    for pattern, token in RULES:
        text = re.sub(pattern, MAKERS.get(token, token), text, flags=re.I)
    return re.sub(r"\s+", " ", text).strip()


def _gap_top(match: re.Match[str]) -> str:
    """Returns a gap with its greatest size, where the words say so: "its lead is at its maximum"."""
    says = re.search(
        r"\b(?:widest|largest|greatest|maximum|highest|peak\w*)\b", match[0][len(match["what"]) + len(match["rest"]) :]
    )
    return f" {match['what']}{match['rest']} HIGHEST " if says else match[0]


def _rank(match: re.Match[str]) -> str:
    """Returns the place in the ranking, and the end of the curve that the verb names: "ends up second"."""
    groups = match.groupdict()
    place = PLACES_IN_RANKING[(groups.get("nth") or groups["nth2"]).lower()]
    verb = groups.get("verb") or ""
    end = "END" if re.match(r"finish|end|land", verb, re.I) else "START" if re.match(r"start|begin|began", verb, re.I) else ""
    return f" {end} {place} "


MAKERS: dict[str, Callable[[re.Match[str]], str]] = {
    " RANK ": _rank, " GAPTOP ": _gap_top, " CHANGED ": _changed, " CHANGED_FOR ": _changed_for,
    " CHANGED_STEP ": _changed_step,
}  # fmt: skip
"""Tokens that depend on the words that were found."""


def without_fillers(text: str) -> str:
    return re.sub(r"\s+", " ", FILLERS.sub(" ", text)).strip(" ,.;:!-")
