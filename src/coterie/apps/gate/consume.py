"""Consuming a stream of numbered messages, such as Kafka's: at least once in, exactly once out.

The number of the next message of each partition stands in the snapshot, beside what was counted. Messages that come
again are known by their number and left out; the offsets that a broker keeps are not needed, and not believed. Messages
are what `confluent_kafka.Consumer` gives: `topic()`, `partition()`, `offset()`, `value()` and `error()`.

    consumer.assign([TopicPartition(topic, number, next_offset(gate, topic, number)) for number in partitions])
    consume(gate, iter(lambda: consumer.poll(1.0), object()))
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import orjson
import polars as pl

from coterie import api
from coterie.apps.gate.gate import Gate
from coterie.apps.gate.run import refuse_steps
from coterie.errors import CoterieError, InputError
from coterie.steps import DEFAULT, StepLike, steps_of

_SCHEMA = dict.fromkeys(("user", "query", "time", "url"), pl.String)


class Message(Protocol):
    """One message, as confluent_kafka has it."""

    def topic(self) -> str | None:
        """Its topic."""

    def partition(self) -> int | None:
        """Its partition."""

    def offset(self) -> int | None:
        """Its number in the partition."""

    def value(self) -> bytes | None:
        """A JSON object with the columns of a log: user, query, time, url."""

    def error(self) -> Any:
        """What is wrong, or None."""


def next_offset(gate: Gate, topic: str, partition: int) -> int:
    """The number of the first message of a partition that was not counted yet."""
    return int(gate.position.get(_name(topic, partition), 0))


def consume(
    gate: Gate,
    messages: Iterable[Message | None],
    *,
    steps: str | Iterable[StepLike] = DEFAULT,
    batch: int = 20_000,
    patience: float = 30.0,
    quiet: float = 5.0,
) -> None:
    """Count messages to the end of the stream, or for ever; None stands for a moment without any.

    Batches are counted when they are full or nothing more comes; snapshots are made when a part has closed, or after
    `patience` seconds. The clock closes parts and windows after `quiet` seconds without a message: before that,
    messages of a window that it has ended may still come.
    """
    prepared, committed, heard = steps_of(steps), time.monotonic(), time.monotonic()
    refuse_steps(prepared)
    for pieces in _batches(messages, batch):
        _count(gate, pieces, prepared)
        if pieces:
            heard = time.monotonic()
        elif time.monotonic() - heard >= quiet:  # else messages of a window that the clock has ended may still come
            gate.tick()
        if gate.waiting or (gate.changed and time.monotonic() - committed > patience):
            gate.commit()
            committed = time.monotonic()
    gate.commit()


def _batches(messages: Iterable[Message | None], size: int) -> Iterator[list[Message]]:
    pieces: list[Message] = []
    for message in messages:
        if message is not None:
            if message.error() is not None:
                raise InputError(
                    "The stream reported an error. The gate goes on from its last snapshot when restarted."
                )
            pieces.append(message)
        if len(pieces) >= size or message is None:
            yield pieces
            pieces = []
    yield pieces


def _count(gate: Gate, pieces: list[Message], steps: Iterable[StepLike]) -> None:
    """Count the messages that are new, and go on to the place behind them."""
    place: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for message in pieces:
        name = _name(str(message.topic()), int(message.partition() or 0))
        offset = int(message.offset() or 0)
        if offset < place.get(name, int(gate.position.get(name, 0))):
            continue  # it came before
        place[name] = offset + 1
        row = _row(message.value())
        if row is None:
            gate.counts.bad += 1
        else:
            rows.append(row)
    if rows:
        try:
            log = api.prepare(api.log(pl.DataFrame(rows, schema=_SCHEMA)), steps)
        except CoterieError:
            raise InputError(
                "Times of messages must be as ISO 8601 writes them, such as 2024-03-07T09:00:00Z."
            ) from None
        gate.parts.with_steps(log.steps, {})
        gate.offer_many(log, place)
    elif place:
        gate.go_on_to(place)


def _row(value: bytes | None) -> dict[str, Any] | None:
    try:
        found = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("query"), str):
        return None
    texts = {name: found.get(name) for name in _SCHEMA}
    return {name: None if text is None else str(text) for name, text in texts.items()}


def _name(topic: str, partition: int) -> str:
    return f"{topic}[{partition}]"
