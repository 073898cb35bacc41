"""What still names the one site is told to a person."""

from mirrorwatch_promotion.values import Translation, ValueKind, find_leftovers

THERE = Translation(
    {
        ValueKind.DATABASE: {"efd": "efd_stand", "agent": "mirror"},
        ValueKind.HANDLER: {"us": "#us", "mail": "stand@x"},
    },
    {
        ValueKind.DATABASE: {"efd": "efd", "agent": "mirror_summit"},
        ValueKind.HANDLER: {"us": "#them", "mail": "summit@x"},
    },
)


def leftovers(text: str) -> list[str]:
    return list(find_leftovers(text, THERE, ["kafka.stand", "s"]))


def test_values_of_the_one_site_are_found_as_whole_words() -> None:
    assert leftovers("efd_stand is late, ask stand@x at kafka.stand:1") == [
        "efd_stand",
        "stand@x",
        "kafka.stand",
    ]
    assert leftovers("my_efd_stand, efd_stands, #us, mirror, s, efd") == []
