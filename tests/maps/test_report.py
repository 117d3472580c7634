"""The choice of a trial."""

import pytest

from quadfeat.maps.report import Trial, choose


@pytest.mark.parametrize("criterion", ["rms", "max"])
@pytest.mark.parametrize("error, chosen", [(1.19, "cheap"), (1.21, "dear")])
def test_of_maps_within_a_fifth_of_the_least_error_the_cheapest_is_chosen(criterion, error, chosen):
    def trial(name, cost, error):
        errors = {"rms": 9.0, "max": 9.0, "typical": 9.0}
        return Trial(name, 8, cost=cost, **(errors | {criterion: error}))

    trials = [
        trial("dear", 100.0, 1.0),
        trial("middling", 50.0, error),
        trial("cheap", 10.0, error),
    ]
    report = choose([*trials, trial("wrong", 1.0, 2.0)], criterion, "of X", set())
    assert report.chosen == chosen


@pytest.mark.parametrize("cost, chosen", [(91.0, "best"), (89.0, "other")])
def test_a_map_that_is_hardly_cheaper_does_not_replace_a_better_one(cost, chosen):
    trials = [
        Trial("best", 8, 1.0, 1.0, 100.0, typical=1.0),
        Trial("other", 8, 1.1, 1.1, cost, typical=1.1),
    ]
    report = choose(trials, "rms", "of X", set())
    assert report.chosen == chosen


@pytest.mark.parametrize(
    "error, cost, learned, chosen",
    [
        (1.1, 100.0, {"best"}, "other"),
        (1.12, 100.0, {"best"}, "best"),  # clearly better
        (1.1, 112.0, {"best"}, "best"),  # clearly cheaper
        (1.1, 100.0, {"best", "other"}, "best"),
        (1.1, 100.0, set(), "best"),
    ],
)
def test_a_data_dependent_map_has_to_be_clearly_better(error, cost, learned, chosen):
    trials = [
        Trial("best", 8, 1.0, 1.0, 100.0, typical=1.0),
        Trial("other", 8, error, error, cost, typical=error),
    ]
    report = choose(trials, "rms", "it did not see", learned)
    assert report.chosen == chosen
    assert report.reason.startswith(chosen)


def trial(name, typical, rms, cost=100.0):
    return Trial(name, 8, rms, 9.0, cost, typical=typical)


@pytest.mark.parametrize(
    "others, chosen",
    [
        ([trial("other", 1.2, 0.1)], "Landmarks"),  # worse on typical pairs than landmarks are
        ([trial("other", 1.09, 0.1)], "other"),  # not worse there, so that all pairs decide
        ([trial("cheap", 1.09, 1.1, cost=10.0)], "cheap"),
        ([trial("cheap", 1.09, 1.3, cost=10.0)], "Landmarks"),  # not where all pairs err more
    ],
)
def test_all_pairs_decide_among_maps_that_err_no_more_than_landmarks_on_typical_ones(
    others, chosen
):
    report = choose([trial("Landmarks", 1.0, 1.0), *others], "rms", "of X", set())
    assert report.chosen == chosen
