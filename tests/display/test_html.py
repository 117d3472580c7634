"""Facts as HTML: escaped, three digits, no background of their own."""

import re

import pytest

from quadfeat._display.html import card, facts, folded, note, number, table

NASTY = "<script>alert('x')</script> & \"b\""


@pytest.mark.parametrize(
    "made",
    [
        card(NASTY),
        facts([(NASTY, NASTY)]),
        table([NASTY], [[NASTY]]),
        note(NASTY),
        folded(NASTY, ""),
    ],
    ids=["card", "facts", "table", "note", "folded"],
)
def test_text_is_escaped(made):
    assert "<script>" not in made
    assert "&lt;script&gt;" in made


def test_facts_without_a_value_are_left_out():
    made = facts([("a", None), ("b", ""), ("c", 0), ("d", "text")])
    assert re.findall(r"<th>(\w)</th>", made) == ["c", "d"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.123456, "0.123"), (1e-9, "1e-09"), (True, "1"), ("a", "a")],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_colours_are_those_of_the_page():
    style = re.search(r"<style>(.*?)</style>", card("a"), flags=re.S)[1]
    assert set(re.findall(r"(?:^|[ ;])background: (\w+)", style)) == {"none"}
    assert set(re.findall(r"(?:^|[ ;])color: (\w+)", style)) == {"inherit"}
    assert "#" not in style


def test_chosen_rows_are_marked():
    made = table(["a"], [["1"], ["2"], ["3"]], chosen=[1])
    assert re.findall(r'<tr class="chosen"><td>(\d)', made) == ["2"]
