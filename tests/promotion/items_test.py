"""What servers tell of one thing in two ways is the same."""

from mirrorwatch_promotion.chronograf import from_chronograf

EMPTY = {"base": "", "scale": "", "label": ""}
SET = {"base": "10", "scale": "linear", "label": ""}


def test_a_dashboard_of_a_file_is_as_the_server_has_it_that_was_given_it() -> (
    None
):
    in_a_file = {
        "id": "7000",
        "name": "Dome",
        "cells": [
            {
                "i": "a",
                "w": 4,
                "type": "",
                "axes": {"x": EMPTY},
                "queries": [{"query": "SELECT x FROM m"}],
                "fieldOptions": None,
            }
        ],
        "templates": [{"tempVar": ":a:", "type": "csv"}],
    }
    given = {
        "id": "1",
        "name": "Dome",
        "cells": [
            {
                "i": "b",
                "w": 4,
                "type": "line",
                "axes": {"x": SET},
                "queries": [
                    {
                        "query": "SELECT x FROM m",
                        "source": "",
                        "type": "influxql",
                        "queryConfig": {"raw": ""},
                    }
                ],
                "fieldOptions": [],
                "colors": [],
                "note": "",
                "noteVisibility": "default",
                "links": {},
            }
        ],
        "templates": [
            {"tempVar": ":a:", "type": "csv", "values": []}
            | {"sourceID": "dynamic", "links": {}}
        ],
    }
    one, other = from_chronograf(in_a_file), from_chronograf(given)
    assert one.content == other.content
    assert one.ref != other.ref
