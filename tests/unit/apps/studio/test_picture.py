"""Points of a map are where their numbers say, and thresholds are drawn."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.studio.picture import HEIGHT, WIDTH, Point, draw

shares = st.floats(0, 400, allow_nan=False)


def test_nothing_to_draw():
    assert draw([], ("a", "b")) is None


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=8), st.none() | shares, st.none() | shares)
def test_everything_is_inside_and_in_order(numbers, most, least):
    points = [Point(label=str(i), place=i + 1, x=x, y=y) for i, (x, y) in enumerate(numbers)]
    drawn = draw(points, ("exposure", "kept"), most, least)
    assert (drawn.most is None, drawn.least is None) == (most is None, least is None)
    for one in drawn.points:
        assert 0 < drawn.left <= one.across <= drawn.right < WIDTH
        assert 0 < drawn.top <= one.down <= drawn.bottom < HEIGHT
        for other in drawn.points:
            assert one.x > other.x or one.across <= other.across
            assert one.y > other.y or one.down >= other.down
    assert 2 <= len(drawn.ticks_x) <= 7
    assert 2 <= len(drawn.ticks_y) <= 7


def test_what_it_says_to_those_who_do_not_see_it():
    drawn = draw([Point(label="k=5", place=1, x=20, y=40)], ("exposure", "interests kept"))
    assert drawn.says == "interests kept against exposure. k=5: exposure 20.0%, interests kept 40.0%."
