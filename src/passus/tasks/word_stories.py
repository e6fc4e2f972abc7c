"""Stories of the word problems: each kind draws its numbers, and writes a question and the steps of its solution."""

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass

NAMES = [
    "Ada", "Adam", "Alice", "Amir", "Anna", "Aisha", "Ben", "Bella", "Boris", "Carla", "Carlos", "Chen", "Clara", "Daniel",
    "Dora", "Ella", "Emil", "Emma", "Erik", "Eva", "Farid", "Felix", "Fiona", "Frida", "George", "Grace", "Hana", "Hannah",
    "Henry", "Hugo", "Ida", "Igor", "Ines", "Ivan", "Jack", "Jana", "Jonas", "Julia", "Kamal", "Karin", "Kofi", "Lars",
    "Laura", "Lena", "Leo", "Lina", "Louis", "Lucy", "Maja", "Marco", "Maria", "Mark", "Mei", "Mila", "Nadia", "Nina",
    "Noah", "Nora", "Olga", "Omar", "Oscar", "Pablo", "Paul", "Petra", "Priya", "Rania", "Rosa", "Ruth", "Sam", "Samira",
    "Sara", "Simon", "Sofia", "Stefan", "Tariq", "Theo", "Tina", "Tom", "Vera", "Victor", "Wanda", "Yara", "Yusuf", "Zoe",
]  # fmt: skip
GOODS = [
    "pens", "books", "cups", "plates", "candles", "lamps", "brushes", "notebooks", "balls", "kites", "toys", "caps",
    "scarves", "gloves", "baskets", "flowers", "puzzles", "clocks", "chairs", "pillows", "mugs", "maps", "bells", "ropes",
    "buckets", "drums", "boxes", "ribbons", "stickers", "magnets",
]  # fmt: skip
SWEETS = ["sweets", "cookies", "nuts", "grapes", "cherries", "plums", "biscuits", "marbles", "beads", "shells"]
CARDS = ["stamps", "coins", "cards", "stones", "badges", "postcards", "photos", "comics"]
BAKED = ["rolls", "muffins", "pies", "buns", "cakes", "pretzels", "tarts", "scones"]
PARTS = ["screws", "bottles", "tiles", "bricks", "bolts", "cans", "jars", "bulbs"]
VEHICLES = ["train", "bus", "car", "truck", "van"]
NOTES = (50, 100, 200, 500, 1000)
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    # After an earlier slip, a difference may be negative or a divisor 0. A correct solution never needs these bounds.
    "+": operator.add, "-": lambda a, b: max(0, a - b), "*": operator.mul, "/": lambda a, b: a // max(1, b),
}  # fmt: skip


class StepResult(int):
    """The result of a step. It knows its step, so that an error there carries over to later steps."""

    step: int


@dataclass(frozen=True)
class StoryStep:
    before: str
    left: int
    operation: str
    right: int
    after: str


class Story:
    """Draws the numbers of a problem, and collects the steps of its solution while the question is written."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.steps: list[StoryStep] = []

    def number(self, low: int, high: int) -> int:
        # randint takes three times as long, and pretraining draws millions of numbers.
        return low + int((high - low + 1) * self.rng.random())

    def pick(self, words: list[str]) -> str:
        return words[self.number(0, len(words) - 1)]

    def names(self, n: int) -> list[str]:
        return self.rng.sample(NAMES, n)

    def step(self, before: str, left: int, operation: str, right: int, after: str) -> StepResult:
        result = StepResult(OPERATIONS[operation](left, right))
        result.step = len(self.steps)
        self.steps.append(StoryStep(before, left, operation, right, after))
        return result


def _shop(s: Story) -> str:
    [name], first, second = s.names(1), *s.rng.sample(GOODS, 2)
    n, price, m, other = s.number(2, 9), s.number(2, 30), s.number(2, 9), s.number(2, 30)
    cost = s.step(f"The {first} cost", n, "*", price, "dollars")
    more = s.step(f"The {second} cost", m, "*", other, "dollars")
    total = s.step("All cost", cost, "+", more, "dollars")
    paid = next(note for note in NOTES if note >= total)
    s.step(f"{name} gets back", paid, "-", total, "dollars")
    return (
        f"{name} buys {n} {first} at {price} dollars each and {m} {second} at {other} dollars each, and pays with {paid} "
        f"dollars. How many dollars does {name} get back?"
    )


def _share(s: Story) -> str:
    [name], things = s.names(1), s.pick(SWEETS)
    bags, each, children = s.number(3, 9), s.number(8, 30), s.number(2, 9)
    eaten = bags * each % children or children
    total = s.step(f"{name} has", bags, "*", each, things)
    rest = s.step("There are", total, "-", eaten, f"{things} left")
    s.step("Each child gets", rest, "/", children, things)
    return (
        f"{name} has {bags} bags with {each} {things} each. {name} keeps {eaten} {things} and shares the rest equally among "
        f"{children} children. How many {things} does each child get?"
    )


def _travel(s: Story) -> str:
    vehicle, a, b = s.pick(VEHICLES), s.number(2, 9), s.number(2, 9)
    fast, slow, left = s.number(50, 99), s.number(20, 49), s.number(10, 200)
    first = s.step("The first part is", fast, "*", a, "km")
    second = s.step("The second part is", slow, "*", b, "km")
    total = s.step("So far it has gone", first, "+", second, "km")
    way = total + left
    s.step("It still has to go", way, "-", total, "km")
    return (
        f"A {vehicle} has a way of {way} km before it. It goes {fast} km an hour for {a} hours and then {slow} km an hour "
        f"for {b} hours. How many km are left?"
    )


def _ages(s: Story) -> str:
    (name_a, name_b, name_c), age, times = s.names(3), s.number(5, 19), s.number(2, 4)
    younger = s.number(2, age * times - 1)
    second = s.step(f"{name_b} is", age, "*", times, "years old")
    third = s.step(f"{name_c} is", second, "-", younger, "years old")
    both = s.step(f"{name_a} and {name_b} have", age, "+", second, "years")
    s.step("All three have", both, "+", third, "years")
    return (
        f"{name_a} is {age} years old. {name_b} is {times} times as old as {name_a}, and {name_c} is {younger} years younger "
        f"than {name_b}. How many years old are {name_a}, {name_b} and {name_c} together?"
    )


def _save(s: Story) -> str:
    [name], thing = s.names(1), s.pick(GOODS)
    start, weekly, weeks = s.number(10, 200), s.number(5, 60), s.number(3, 9)
    saved = s.step(f"{name} saves", weekly, "*", weeks, "dollars")
    total = s.step("That makes", saved, "+", start, "dollars")
    spent = s.number(10, total)
    s.step(f"{name} has", total, "-", spent, "dollars left")
    return (
        f"{name} has {start} dollars and saves {weekly} dollars a week for {weeks} weeks. Then {name} spends {spent} dollars "
        f"on {thing}. How many dollars does {name} have left?"
    )


def _hens(s: Story) -> str:
    [name], box, boxes = s.names(1), s.number(4, 12), s.number(6, 40)
    given, weeks = s.number(1, 30), s.number(2, 6)
    weekly = -(-(box * boxes + given) // weeks)
    given = weekly * weeks - box * boxes  # so that the boxes are full
    eggs = s.step("The hens lay", weekly, "*", weeks, "eggs")
    rest = s.step(f"{name} has", eggs, "-", given, "eggs to sell")
    s.step("They fill", rest, "/", box, "boxes")
    return (
        f"The hens of {name} lay {weekly} eggs a week. After {weeks} weeks {name} gives {given} eggs to a friend and puts "
        f"the others into boxes of {box}. How many boxes are filled?"
    )


def _read(s: Story) -> str:
    [name] = s.names(1)
    early, days, late, more = s.number(8, 40), s.number(2, 9), s.number(4, 12), s.number(2, 30)
    pages = early * days + late * more
    done = s.step(f"{name} reads", early, "*", days, "pages first")
    left = s.step("There are", pages, "-", done, "pages left")
    s.step("That takes", left, "/", late, "more days")
    return (
        f"{name} reads a book of {pages} pages, {early} pages a day for {days} days, and {late} pages a day after that. How "
        "many more days does the rest of the book take?"
    )


def _bus(s: Story) -> str:
    start, off, on, on_again = s.number(15, 60), s.number(2, 14), s.number(2, 30), s.number(2, 30)
    first = s.step("After the first leave there are", start, "-", off, "people")
    second = s.step("With the new ones there are", first, "+", on, "people")
    off_again = s.number(2, second)
    third = s.step("Then there are", second, "-", off_again, "people")
    s.step("In the end there are", third, "+", on_again, "people")
    return (
        f"A bus has {start} people in it. At the first stop {off} people get off and {on} get on. At the second stop "
        f"{off_again} people get off and {on_again} get on. How many people are in the bus now?"
    )


def _theatre(s: Story) -> str:
    rows, seats, price = s.number(6, 12), s.number(8, 30), s.number(3, 9)
    empty = s.number(2, 40)
    total = s.step("The theatre has", rows, "*", seats, "seats")
    sold = s.step("People sit on", total, "-", empty, "seats")
    s.step("They pay", sold, "*", price, "dollars")
    return (
        f"A theatre has {rows} rows with {seats} seats each. A ticket costs {price} dollars. One evening {empty} seats stay "
        "empty. How many dollars do the tickets of that evening bring?"
    )


def _wages(s: Story) -> str:
    [name], wage, hours, days = s.names(1), s.number(11, 30), s.number(4, 9), s.number(3, 9)
    daily = s.step(f"In a day {name} earns", wage, "*", hours, "dollars")
    total = s.step(f"In all {name} earns", daily, "*", days, "dollars")
    rent = s.number(50, total)
    s.step(f"{name} keeps", total, "-", rent, "dollars")
    return (
        f"{name} earns {wage} dollars an hour and works {hours} hours a day for {days} days. From that {name} pays {rent} "
        f"dollars of rent. How many dollars does {name} keep?"
    )


def _fence(s: Story) -> str:
    [name], length, width, price = s.names(1), s.number(10, 90), s.number(5, 60), s.number(2, 9)
    half = s.step("Two sides have", length, "+", width, "metres")
    around = s.step("All four sides have", half, "*", 2, "metres")
    s.step("The fence costs", around, "*", price, "dollars")
    return (
        f"The garden of {name} is {length} metres long and {width} metres wide. A metre of fence costs {price} dollars. How "
        "many dollars does a fence around the whole garden cost?"
    )


def _recipe(s: Story) -> str:
    [name], people, unit, guests = s.names(1), s.number(2, 8), s.number(15, 90), s.number(3, 9)
    flour, left = people * unit, s.number(5, 300)
    each = s.step("One person needs", flour, "/", people, "grams")
    needed = s.step("The guests need", each, "*", guests, "grams")
    bag = needed + left
    s.step(f"{name} has", bag, "-", needed, "grams left")
    return (
        f"A recipe for {people} people takes {flour} grams of flour. {name} has {bag} grams of flour and cooks for {guests} "
        "people. How many grams of flour are left?"
    )


def _collect(s: Story) -> str:
    (name_a, name_b), things = s.names(2), s.pick(CARDS)
    has, had, packs, each = 2 * s.number(10, 150), s.number(5, 200), s.number(2, 9), s.number(3, 25)
    given = s.step(f"{name_a} gives", has, "/", 2, things)
    both = s.step(f"Then {name_b} has", had, "+", given, things)
    bought = s.step(f"{name_b} buys", packs, "*", each, things)
    s.step(f"In the end {name_b} has", both, "+", bought, things)
    return (
        f"{name_a} has {has} {things} and gives half of them to {name_b}, who had {had} {things} before. Then {name_b} buys "
        f"{packs} packs of {each} {things}. How many {things} does {name_b} have now?"
    )


def _factory(s: Story) -> str:
    things, hourly, morning, evening = s.pick(PARTS), s.number(100, 999), s.number(2, 5), s.number(2, 5)
    broken = s.number(2, 99)
    hours = s.step("The machine runs", morning, "+", evening, "hours")
    total = s.step("It makes", hourly, "*", hours, things)
    s.step("There are", total, "-", broken, f"good {things}")
    return (
        f"A machine makes {hourly} {things} an hour. It runs {morning} hours in the morning and {evening} hours in the "
        f"evening. Of the {things} {broken} are broken. How many good {things} does it make?"
    )


def _trip(s: Story) -> str:
    pupils, teachers, price, bus = s.number(12, 60), s.number(2, 9), s.number(3, 9), s.number(40, 600)
    people = s.step("The group has", pupils, "+", teachers, "people")
    tickets = s.step("The tickets cost", people, "*", price, "dollars")
    s.step("The trip costs", tickets, "+", bus, "dollars")
    return (
        f"A class of {pupils} pupils goes to a museum with {teachers} teachers. Every ticket costs {price} dollars, and the "
        f"bus costs {bus} dollars. How many dollars does the trip cost?"
    )


def _tank(s: Story) -> str:
    start, out, faster, minutes = s.number(20, 900), s.number(3, 40), s.number(2, 60), s.number(3, 9)
    gained = s.step("Every minute it gains", out + faster, "-", out, "litres")
    total = s.step("In all it gains", gained, "*", minutes, "litres")
    s.step("It holds", start, "+", total, "litres")
    return (
        f"A tank holds {start} litres of water. Every minute {out + faster} litres flow in and {out} litres flow out. How "
        f"many litres does it hold after {minutes} minutes?"
    )


def _bakery(s: Story) -> str:
    [name], things, trays, each = s.names(1), s.pick(BAKED), s.number(4, 12), s.number(8, 30)
    total = s.step(f"{name} bakes", trays, "*", each, things)
    sold = s.number(5, total)
    s.step("There are", total, "-", sold, f"{things} left")
    return f"{name} bakes {trays} trays of {each} {things} and sells {sold} {things}. How many {things} are left?"


def _market(s: Story) -> str:
    (name_a, name_b), first, second = s.names(2), *s.rng.sample(GOODS, 2)
    n, m, price, other = s.number(5, 60), s.number(5, 60), s.number(3, 9), s.number(3, 9)
    if n * price < m * other:
        n, price, m, other = m, other, n, price
    first_income = s.step(f"{name_a} takes in", n, "*", price, "dollars")
    second_income = s.step(f"{name_b} takes in", m, "*", other, "dollars")
    s.step(f"{name_a} takes in", first_income, "-", second_income, "dollars more")
    return (
        f"At the market {name_a} sells {n} {first} for {price} dollars each, and {name_b} sells {m} {second} for {other} "
        f"dollars each. How many dollars more than {name_b} does {name_a} take in?"
    )


KINDS: dict[str, Callable[[Story], str]] = {
    "shop": _shop, "share": _share, "travel": _travel, "ages": _ages, "save": _save, "hens": _hens, "read": _read, "bus": _bus,
    "theatre": _theatre, "wages": _wages, "fence": _fence, "recipe": _recipe, "collect": _collect, "factory": _factory,
    "trip": _trip, "tank": _tank, "bakery": _bakery, "market": _market,
}  # fmt: skip
"""Each kind writes a question, and adds the steps of its solution to the story."""
