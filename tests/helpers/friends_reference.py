"""Friends who submit each other's queries, in plain Python: the oracle of lab/simulate/kernels.py."""

from coterie.algorithms.sticky import mix
from coterie.lab.simulate.kernels import BALANCED, BEST_FIT, FREE_RIDER, SELFISH, SIMILAR, STICKY

_STEP, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


class Friends:
    """All people, with what they remember of each other."""

    def __init__(self, friends, behaviour, rules, *, weight=None, tags=None, own_tags=None, fit=None):
        """`friends`: a list of ascending friends for each person; the rest by (person, friend)."""
        self.friends, self.behaviour, self.rules = friends, behaviour, rules
        self.weight, self.tags, self.own_tags, self.fit = weight, tags, own_tags, fit
        self.given, self.own, self.refused, self.in_a_row, self.until, self.asked = {}, {}, {}, {}, {}, {}

    def submit(self, number, u, query, query_tag=0):
        """submitter, first friend (or None), hops, refusals."""
        state = mix((self.rules.seed ^ (number * _STEP)) & _MASK)

        def draw():
            nonlocal state
            state = (state + _STEP) & _MASK
            return (mix(state) >> 11) / 2**53

        holder, sender, left, first, hops, refusals = u, None, self.rules.hops, None, 0, 0
        tag = query_tag
        gone = set()  # who refused whom this query
        while True:
            keep_own = not (sender is None and self.behaviour[holder] == FREE_RIDER)
            while True:
                friend = self._choose(holder, sender, gone, keep_own, query, tag, draw)
                if friend is None or self._accepts(friend, holder):
                    break
                refusals += 1
                pair = holder, friend
                self.refused[pair] = self.refused.get(pair, 0) + 1
                self.in_a_row[pair] = self.in_a_row.get(pair, 0) + 1
                self.until[pair] = self.asked.get(holder, 0) + 1 + self.rules.backoff * self.in_a_row[pair]
                gone.add(pair)
            self.asked[holder] = self.asked.get(holder, 0) + 1
            if friend is None:
                self.own[holder] = self.own.get(holder, 0) + 1
                return holder, first, hops, refusals
            self.given[holder, friend] = self.given.get((holder, friend), 0) + 1
            self.in_a_row[holder, friend] = 0
            first = friend if hops == 0 else first
            hops += 1
            sender, holder = holder, friend
            if left == 0 or not draw() < self.rules.forward:
                return holder, first, hops, refusals
            left -= 1
            if self.rules.choice == STICKY:
                tag = mix(tag ^ self.own_tags[holder])

    def _choose(self, u, sender, gone, keep_own, query, tag, draw):
        rules = self.rules
        left = [f for f in self.friends[u] if f != sender and (u, f) not in gone]
        if rules.choice != BALANCED:
            left = [f for f in left if self.until.get((u, f), 0) <= self.asked.get(u, 0)]
        if rules.choice == STICKY:
            members = [*([None] if keep_own else []), *left]
            score = {m: mix(tag ^ (self.own_tags[u] if m is None else self.tags[u, m])) for m in members}
            return max(members, key=score.__getitem__) if members else None
        if rules.choice == BEST_FIT:
            return max(left, key=lambda f: self.fit(query, f)) if left else None
        at = draw()
        if not left:
            return None
        weights = [self._weight(u, f) for f in left]
        total = 0.0
        for weight in weights:
            total += weight
        own = 0.0
        if keep_own:
            own = {BALANCED: 1 / (1 + self.own.get(u, 0)), SIMILAR: total / len(left)}.get(rules.choice, 1.0)
        at = at * (total + own) - own
        if at < 0:
            return None
        for friend, weight in zip(left, weights, strict=True):
            at -= weight
            if at < 0:
                return friend
        return left[-1]

    def _weight(self, u, friend):
        if self.rules.choice == BALANCED:
            pair = u, friend
            return 1 / (1 + self.given.get(pair, 0) + self.rules.backoff * self.refused.get(pair, 0))
        return self.weight[u, friend] if self.rules.choice == SIMILAR else 1.0

    def _accepts(self, friend, u):
        if self.behaviour[friend] == SELFISH:
            return False
        owed = self.given.get((u, friend), 0) - self.given.get((friend, u), 0)
        return self.rules.credit < 0 or owed < self.rules.credit
