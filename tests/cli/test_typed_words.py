from ifmixup.cli import main
from ifmixup.cli.typed_words import TYPED


def test_what_was_typed_is_known_to_the_command(capsys):
    assert main(["reproduce"]) == 2
    assert TYPED.get() == ("ifmixup", "reproduce")
