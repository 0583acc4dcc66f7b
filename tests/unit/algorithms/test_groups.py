"""Groups in a row, by size and in blocks: who is in them, how large they are, and that numbers follow the names."""

import numpy as np
import polars as pl
import pytest

import coterie
from coterie.algorithms import groups
from coterie.core.shapes import GROUPS
from coterie.errors import InputError
from tests.helpers.runs import a_run

# Users with 1, 2, 3 ... rows; the eighth row in nine belongs to nobody.
ROWS = [(f"user{n:02}", f"word{n % 3} item{i}") for n in range(11) for i in range(n + 1)]
LOG = coterie.log(pl.DataFrame([*ROWS, (None, "lost")], schema=["user", "query"], orient="row"))


def _sizes(table):
    return sorted(table.collect().group_by("group").len()["len"])


@pytest.mark.parametrize("make", [groups.random_groups, groups.size_groups])
@pytest.mark.parametrize(("k", "sizes"), [(2, [2, 2, 2, 2, 3]), (4, [4, 7]), (5, [5, 6]), (11, [11])])
def test_groups_in_a_row_have_k_members_and_the_last_up_to_2k_minus_1(make, k, sizes):
    table = make(LOG, a_run(), k)
    GROUPS.check(table)
    assert _sizes(table) == sizes
    assert table.collect()["subject"].to_list() == groups.user_names(LOG, a_run()).to_list()


def test_random_groups_depend_on_the_seed_and_on_nothing_else():
    first = groups.random_groups(LOG, a_run(seed=1), 3).collect()
    assert groups.random_groups(LOG, a_run(seed=1), 3).collect().equals(first)
    assert not groups.random_groups(LOG, a_run(seed=2), 3).collect().equals(first)


def test_groups_by_size_are_stretches_of_sizes():
    table = groups.size_groups(LOG, a_run(), 3).collect()
    assert [sorted(part["subject"]) for part in table.partition_by("group")] == [
        [f"user{n:02}" for n in part] for part in (range(3), range(3, 6), range(6, 11))
    ]


def test_nobody_is_no_user():
    assert groups.user_rows(LOG).collect()["user"].null_count() == 0
    assert groups.user_names(LOG, a_run()).len() == 11


def test_numbers_run_from_0_and_follow_the_groups():
    given = pl.DataFrame({"subject": ["c", "a", "b"], "group": pl.Series([40, 7, 40], dtype=pl.UInt32)})
    assert groups.numbered(given).rows() == [("a", 0), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(("block_users", "most"), [(0, 11), (4, 4), (1, 4)])
def test_groups_in_blocks_see_one_block_at_a_time(blocks, block_users, most):
    """With k = 2 a block has at least 4 users; each becomes one group here."""
    seen, shares = [], []

    def one_group(block):
        users = block["user"].unique().sort()
        seen.append(users.len())
        return users, np.arange(users.len()), np.array([0, users.len()])

    run = a_run(blocks=blocks, tell=shares.append)
    table = groups.groups_in_blocks(LOG, run, 2, block_users, one_group).collect()
    assert sum(seen) == 11
    assert most <= max(seen) < 2 * most
    assert table["group"].unique().sort().to_list() == list(range(len(seen)))
    assert shares[-1] == 1.0


# --- unions ----------------------------------------------------------------------------------------


def _of_sizes(*sizes):
    numbers = [number for number, size in enumerate(sizes) for _ in range(size)]
    columns = {"subject": [f"user{place:03}" for place in range(len(numbers))], "group": numbers}
    return pl.LazyFrame(columns, schema={"subject": pl.String, "group": pl.UInt32})


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [
        ((3, 4, 5), 3, [3, 4, 5]),  # all are large enough for a smaller k
        ((3, 3, 3, 3), 5, [6, 6]),
        ((3, 3, 3, 3, 3), 5, [6, 9]),
        ((5, 5, 5, 5, 5, 5), 15, [15, 15]),
        ((5, 5, 5), 6, [15]),
        ((4, 6, 9), 5, [9, 10]),  # one is too small, and joins the smallest of the others
        ((2, 2, 6, 9), 4, [4, 6, 9]),
        ((1, 1, 6, 7), 4, [7, 8]),
        ((3,) * 8 + (1,), 5, [6, 6, 6, 7]),  # a small one does not make all unions larger
    ],
)
def test_unions_have_k_members(sizes, k, expected):
    table = groups.united(_of_sizes(*sizes), k, a_run())
    GROUPS.check(table)
    assert _sizes(table) == expected


def test_unions_are_drawn_by_the_seed_and_nobody_changes_groups():
    before = _of_sizes(*[3] * 20).collect()
    first = groups.united(before.lazy(), 7, a_run(seed=1)).collect()
    assert (
        groups.united(before.sample(fraction=1, shuffle=True, seed=3).lazy(), 7, a_run(seed=1)).collect().equals(first)
    )
    renumbered = before.with_columns((50 - pl.col("group").cast(pl.Int64)).cast(pl.UInt32).alias("group"))
    again = groups.united(renumbered.lazy(), 7, a_run(seed=1)).collect()
    both = first.join(again, on="subject", suffix="_again")
    assert both.select(pl.struct("group", "group_again").n_unique()).item() == first["group"].n_unique()
    assert not groups.united(before.lazy(), 7, a_run(seed=2)).collect().equals(first)
    unions = before.join(first, on="subject", suffix="_union").group_by("group").agg(pl.col("group_union").n_unique())
    assert unions["group_union"].to_list() == [1] * 20


def test_a_method_may_say_which_groups_belong_together():
    asked = []

    def first_with_last(least, members):
        asked.append((least, members["group"].n_unique()))
        number = np.arange(members["group"].n_unique())
        return np.minimum(number, number[::-1])

    table = groups.united(_of_sizes(9, 3, 3, 3, 3), 5, a_run(), first_with_last).collect()
    assert asked == [(2, 4)]  # those that are large enough are not asked about
    members = [sorted(part["subject"]) for part in table.partition_by("group", maintain_order=True)]
    numbers = [[int(name[4:]) for name in part] for part in members]
    assert sorted(numbers) == [list(range(9)), [9, 10, 11, 18, 19, 20], list(range(12, 18))]


def test_too_few_users_for_any_union():
    with pytest.raises(InputError, match=r"have 7 users in this log, and k is 8\. Use a smaller k"):
        groups.united(_of_sizes(3, 4), 8, a_run())


def test_a_small_group_joins_the_smallest_of_those_that_are_large_enough():
    sizes = {0: 2, 1: 9, 2: 6}  # the smallest that is large enough comes last
    rows = [(f"{group}{place}", group) for group, n in sizes.items() for place in range(n)]
    given = pl.LazyFrame(rows, schema={"subject": pl.String, "group": pl.UInt32}, orient="row")
    joined = groups.united(given, 5, a_run(1)).collect()
    assert sorted(joined.group_by("group").len()["len"].to_list()) == [8, 9]
