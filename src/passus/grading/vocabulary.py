"""Tables of words that the answer parser knows: functions, symbols, units, numbers, and words that change an answer."""

FUNCTIONS = frozenset(
    """sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh ln log lg exp sqrt abs max min gcd lcm floor
    ceil Re Im arg binom fact root asin acos atan""".split()
)
FUNCTION_SYNONYMS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "cosec": "csc", "sh": "sinh", "ch": "cosh"}
FUNCTION_LETTERS = frozenset("fghFGHPQ")
"""Letters that stand for a function, not for a factor, before a parenthesis."""
FUNCTION_PREFIXES = ("arcsin", "arccos", "arctan", "sqrt", "sin", "cos", "tan", "log", "ln", "pi")
"""Names that are recognised when they are joined to a variable, as in `sinx`."""
SYMBOL_COMMANDS = frozenset(
    """alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi rho sigma tau phi
    varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega hbar ell infty circ Pi imath partial nabla
    mho Upsilon upsilon iota triangle angle ldots""".split()
)
ACCENTS = frozenset({"vec", "hat", "tilde", "bar", "overline", "dot", "ddot", "mathbb", "overbrace", "acute", "check"})
INFINITY_WORDS = {"inf": "infty", "oo": "infty", "infinity": "infty"}
KNOWN_NAMES = frozenset({"pi", "sqrt", "infty", *INFINITY_WORDS, *FUNCTIONS, *SYMBOL_COMMANDS})
"""Runs of letters that are one name without a backslash."""
NON_FACTOR_COMMANDS = frozenset("rfloor rceil pm mp approx le ge ne cup cap in backslash circ rangle langle ldots".split())
"""Commands that cannot begin a factor, so a product ends before them."""
MATH_VERIFY_COMMANDS = frozenset(
    """sum prod int iint iiint oint lim frac over choose sqrt binom pi cdot times begin end text textbf mathrm operatorname
    mathbf det infty emptyset lfloor lceil tag label because""".split()
)
"""Commands that math-verify evaluates in addition to ours."""

SHORT_ENGLISH_WORDS = frozenset(
    """no of is it if we he so to do on go or and the not all any for yes none even odd east west true false each both
    dne here with from when then that this some only must does than into over such case more less zero one two three
    four five six seven eight nine ten non day won win lose draw""".split()
)
"""Words short enough to be mistaken for a product of variables."""
WORD_SYNONYMS = {
    "convergent": "converges", "divergent": "diverges", "dne": "does not exist", "isn't": "is not", "doesn't": "does not",
    "correct": "true",
    "cannot": "not", "degrees": "", "approx": "",
}  # fmt: skip
NUMBER_WORDS = {
    word: str(n)
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
}
BASE_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "twelve": 12, "sixteen": 16,
    "ten": 10,
}  # fmt: skip
SCALES = {
    "dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "万": 10**4, "亿": 10**8,
}  # fmt: skip

UNIT_LETTERS = frozenset("mgsNJVAWKLCTh")
UNIT_WORDS = frozenset(
    """cm mm km dm nm um kg mg ml mL kW kWh Hz kHz MHz GHz kJ kPa Pa eV keV MeV mol rad sr ft yd mi in lb lbs oz mph
    kph km/h m/s rpm inch inches foot feet yard yards mile miles meter meters metre metres centimeter centimeters
    centimetre centimetres millimeter millimeters kilometer kilometers kilometre kilometres gram grams kilogram
    kilograms pound pounds ounce ounces ton tons tonne tonnes liter liters litre litres gallon gallons quart quarts
    cup cups second seconds sec secs minute minutes min mins hour hours hr hrs day days week weeks month months year
    years yr yrs degree degrees deg radian radians dollar dollars cent cents euro euros yuan percent unit units square
    cubic sq cu people person persons students student ways way times coins coin marbles apples pieces points point
    books pages cars boys girls men women children cards balls integers numbers pairs solutions terms sides edges
    faces games meals tickets per newton newtons joule joules watt watts volt volts amp amps ampere amperes ohm ohms
    kelvin celsius fahrenheit hertz erg ergs parsec parsecs pc kpc Mpc AU angstrom angstroms electrons photons pm am 元
    米 厘米 千米 平方米 平方厘米 立方米 立方厘米 克 千克 吨 秒 分钟 小时 天 度
    个 种 人 次 条 件 岁 倍 名 组 对 只 本 张 块""".split()
)
CONJUNCTIONS = frozenset({"and", "or", "and/or", ", and", ", or", "&", "和", "或", "与", "或者", "OR", "AND", "Or", "And"})
HEDGES = frozenset(
    """or and not maybe about approximately roughly otherwise if when except plus minus half perhaps but possibly
    unless is are was were has have be being isn't aren't wrong incorrect too below above under doubled tripled
    halved squared cubed factorial halves thirds quarters tenths hundredths fifths sixths sevenths eighths
    ninths elevenths twelfths thousandths fourths fifth sixth seventh eighth ninth tenth tens scores unknown
    impossible undefined remainder mod modulo more less fewer least most over larger smaller greater bigger higher
    lower""".split()
)
"""Words after a number that change what it means, so they are not a unit."""
DANGLING_ADJECTIVES = frozenset({"positive", "negative", "true", "false", "inverse"})
"""Adjectives that are part of a unit only before a noun: `4 positive integers` is 4, `4 negative` is not."""
RESTRICTIONS = frozenset(
    """or but only if unless except when wait idea maybe otherwise sometimes however although though possibly probably
    sure clue yet""".split()
)
"""Words that restrict a yes or a no."""
RETRACTIONS = {"yes": RESTRICTIONS | {"no", "not", "never"}, "no": RESTRICTIONS | {"yes"}}
"""Words after a yes or a no that change it. Other words explain it."""
