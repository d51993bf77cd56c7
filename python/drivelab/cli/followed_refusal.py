"""Why nothing can be told of a followed program that made no call on its disk."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.analyse.followed_calls import ReadsOutside
from drivelab.model.errors import DrivelabError
from drivelab.model.system_calls import FILE_UNKNOWN
from drivelab.report.followed_remarks import elsewhere_option, outside_words
from drivelab.run.following.follow import Followed
from drivelab.trace.files_of_calls import ELSEWHERE, REGISTERED, SUBMISSIONS


def no_call(
    name: str, followed: Followed, left_out: Mapping[str, int], elsewhere: tuple[int, str], outside: ReadsOutside
) -> DrivelabError:
    """What is said of it: R445.

    Parameters
    ----------
    elsewhere : (int, str)
        Of the other disk with most of it how long calls on its files took, in ns, and the file with most of that.
    outside : ReadsOutside
        What its threads read all the same.
    """
    disk, option = followed.disk, elsewhere_option(*elsewhere, 0, followed.ended_ns - followed.began_ns)
    untold = {reason: left_out[reason] for reason in (SUBMISSIONS, REGISTERED, FILE_UNKNOWN) if reason in left_out}
    # of unknown files are a few of every program
    if untold.keys() == {FILE_UNKNOWN} and untold[FILE_UNKNOWN] < left_out.get(ELSEWHERE, 0):
        untold = {}
    told = ", ".join(f"{count} {reason}" for reason, count in (untold or left_out).items()) or "no call at all"
    if untold:
        do = "have it name files by descriptors, without registering them with the ring" if REGISTERED in untold else ""
        return DrivelabError(
            "R445", f"{name} made no call on {disk} that could be explained: {told}", where=disk, do=do
        )
    what = f"{name} made no read, write or sync call on {disk} that is followed: {told}"
    if words := outside_words(outside.count, outside.size_bytes, outside.time_ns, 0):
        what += f"; {words.removesuffix('.')}"
    do = f"follow it on the disk of the files that it waited for: {option}" if option else ""
    return DrivelabError("R445", what, where=disk, do=do)
