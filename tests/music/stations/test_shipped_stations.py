"""The bundled stations file is valid."""

from pathlib import Path

from pi_appliance.music.stations.service import load_stations


def test_the_bundled_stations_are_well_formed() -> None:
    stations = load_stations(Path(__file__).parents[3] / "config" / "stations.yaml")
    assert len(stations) >= 10
    assert all(station.genre and len(station.country) == 2 for station in stations)
    assert len({station.url for station in stations}) == len(stations)
