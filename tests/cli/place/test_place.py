"""A cluster that is not found is told of with the region that was asked."""

from llm_fleet.cli.place.place import Kind, Place


def test_a_place_tells_its_region_where_it_is_known():
    place = Place(kind=Kind.HYPERPOD, name="ml", region="us-east-2")
    assert str(place) == "HyperPod cluster ml in us-east-2"
    assert str(Place(kind=Kind.SERVICE, name="talk", region=None)) == "inference service talk"
