"""Columns as categories: numbered, taken and joined without a sort as a sort would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.performance.physics import categorical
from optimizer.performance.physics.categorical import Categorical

columns = st.integers(1, 30).flatmap(
    lambda rows: st.lists(st.lists(st.sampled_from("abcdefg"), min_size=rows, max_size=rows), min_size=1, max_size=3)
)


@given(columns, st.data())
def test_some_rows_have_the_categories_that_occur_in_the_order_of_their_first_rows(
    values: list[list[str]], data: st.DataObject
) -> None:
    column, rows = Categorical.of(values[0]), np.arange(len(values[0]))
    taken = np.array(data.draw(st.lists(st.sampled_from(rows.tolist()), max_size=40)), dtype=np.intp)
    found, left = column.take(taken), [values[0][row] for row in taken.tolist()]
    assert found.categories == tuple(dict.fromkeys(left))
    assert [found.categories[code] for code in found.codes.tolist()] == left


@given(columns)
def test_the_first_row_of_each_category_is_told(values: list[list[str]]) -> None:
    column = Categorical.of(values[0])
    assert column.first.tolist() == [values[0].index(category) for category in column.categories]
    # a category without rows has none
    assert Categorical(("none", *column.categories), column.codes + 1).first.tolist() == column.first.tolist()


@pytest.mark.parametrize("most", [0, 10**6])
def test_combinations_are_those_that_occur_sorted_by_their_codes(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(categorical, "MOST_PER_ROW", most)

    @given(columns)
    def check(values: list[list[str]]) -> None:
        each = [Categorical.of(column) for column in values]
        found = Categorical.joined(*each)
        rows = list(zip(*values, strict=True))
        assert [found.categories[code] for code in found.codes.tolist()] == rows
        codes = sorted(set(zip(*(column.codes.tolist() for column in each), strict=True)))
        names = [tuple(c.categories[code] for c, code in zip(each, several, strict=True)) for several in codes]
        assert list(found.categories) == names

    check()
