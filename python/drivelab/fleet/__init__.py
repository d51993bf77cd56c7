"""Many hosts as one: what each of them measures is an ordinary local run, and this tells them which.

Dask carries the messages. It is told to do nothing by itself: nothing is moved
to another host and nothing is tried twice, since a measurement is neither
movable nor repeatable without a trace.
"""
