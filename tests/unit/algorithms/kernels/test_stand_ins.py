"""Every event stands behind the chosen event that is nearest by the plain version, the first one of several."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.algorithms.kernels import hausdorff, stand_ins
from tests.helpers import reference
from tests.helpers.examples import examples
from tests.helpers.microaggregation import encoded, frame_of, people, users_of


@settings(max_examples=examples(30))
@given(rows=people(most=6), eq1=st.sampled_from(["text", "printed"]), data=st.data())
def test_the_nearest_chosen_event_after_one_choice_and_another(rows, eq1, data):
    frame = frame_of(rows)
    users = users_of(frame)
    scale = reference.scales(users)
    everything = [event for _, found in users for event in found]
    events = encoded(frame, eq1).events
    workspace, standing = hausdorff.new_workspace(events, 4), stand_ins.new_assignment(events.time.size)
    before = np.empty(0, dtype=np.int64)
    for _ in range(3):  # what is known of one choice is used for the next
        numbers = st.sets(st.integers(0, len(everything) - 1), min_size=1, max_size=6)
        chosen = np.array(sorted(data.draw(numbers)), dtype=np.int64)
        stand_ins.assign(np.arange(len(users)), chosen, before, events, workspace, standing)
        for e, event in enumerate(everything):
            far = [(reference.event_distance(event, everything[c], scale, eq1), c) for c in chosen.tolist()]
            assert standing.near[e] == (e if e in chosen else min(far)[1])
        before = chosen


def test_where_there_are_too_many_pairs_events_stand_behind_the_same_string():
    rows = [("a", None, "maps", 1, None), ("a", None, "tides", 1, None), ("b", None, "maps", 2, None)]
    events = encoded(frame_of(rows)).events
    standing = stand_ins.new_assignment(events.time.size)
    stand_ins.assign_strings(np.arange(2), np.array([2]), events, standing)
    assert standing.near[:3].tolist() == [2, -1, 2]
