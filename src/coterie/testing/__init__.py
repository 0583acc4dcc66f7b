"""The testing kit: what every method, promise, measure and format must pass, also those of third parties.

from coterie.testing import check_method
check_method(MyMethod)
"""

from coterie.testing._logs import queries_log, terms_log, visits_log
from coterie.testing.check_format import check_format
from coterie.testing.check_measure import check_measure
from coterie.testing.check_method import check_method
from coterie.testing.check_private import check_private
from coterie.testing.check_promise import check_promise

__all__ = [
    "check_format",
    "check_measure",
    "check_method",
    "check_private",
    "check_promise",
    "queries_log",
    "terms_log",
    "visits_log",
]
