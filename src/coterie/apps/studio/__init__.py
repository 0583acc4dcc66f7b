"""The studio: the same jobs in the browser, for those who would rather look than type.

Two processes. The server (`server`, `guard`, `app`, `desk`, `pages`) answers the browser of its owner on loopback and
knows names, numbers and sentences only. The worker (`worker`, `tasks`) holds the log and does one job at a time, which
the server hands it from a queue (`queue`); to stop a job is to end the worker, and the next job starts another one.
Everything that either of them puts on disk is in one private folder that goes with the server, but for what the owner
asks to be written.
"""
