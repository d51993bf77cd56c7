"""A drive made of software whose speed, cache and failures are known, to hold drivelab's numbers against.

`process.ShapedDrive` is the process that plays the drive, `loop.LoopDrive` puts
one behind a loop device of this machine, and `tests/vm` puts some into a guest.
"""
