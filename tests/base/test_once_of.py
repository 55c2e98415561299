"""What is worked out of an object is worked out once while it lives, and anew for another, equal or not."""

from optimizer.base.once_of import OnceOf


class Thing:
    """Equal to any other."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    __hash__ = None  # type: ignore[assignment]


def test_each_object_is_looked_at_once_and_no_other_is_taken_for_it() -> None:
    looked = list[int]()

    def work(thing: Thing) -> int:
        looked.append(id(thing))
        return len(looked)

    once, one, other = OnceOf(work), Thing(), Thing()
    assert [once(one), once(other), once(one), once(other)] == [1, 2, 1, 2]
    assert looked == [id(one), id(other)]


def test_nothing_is_kept_of_an_object_that_is_gone() -> None:
    once = OnceOf[Thing, str](lambda _: "found")
    once(thing := Thing())
    assert len(once._known) == 1
    del thing
    assert not once._known
