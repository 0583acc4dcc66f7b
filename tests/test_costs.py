"""What `make test` leaves to `make test-all` follows from a list that is in the repository, not from the clock."""

from tests.costs import ALWAYS, LEDGER, MOST, MOST_OF_THE_CHEAPEST, ledger, left_out


def test_the_cheapest_case_of_a_function_stays():
    costs = {"a.py::t[x]": MOST + 1, "a.py::t[y]": MOST_OF_THE_CHEAPEST, "a.py::u": MOST_OF_THE_CHEAPEST + 0.1}
    names = [*costs, "a.py::t[z]", "a.py::v[x]", "b.py::new"]
    assert left_out(names, costs) == {"a.py::t[x]", "a.py::t[y]", "a.py::u"}
    assert left_out(["a.py::t[x]", "a.py::t[y]"], costs) == {"a.py::t[x]"}


def test_digests_of_releases_always_run():
    assert ALWAYS
    assert left_out(sorted(ALWAYS), dict.fromkeys(ALWAYS, 100.0)) == set()
    for name in ALWAYS:
        file, _, function = name.partition("::")
        assert f"def {function.partition('[')[0]}(" in (LEDGER.parents[1] / file).read_text()


def test_a_test_that_is_not_listed_runs():
    assert left_out(["new.py::test"], ledger()) == set()
