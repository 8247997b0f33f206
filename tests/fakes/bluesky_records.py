"""Checks of a record by the lexicons of app.bsky.feed.post.

It is stricter than the real server: facets must cover whole characters, and a reply needs an existing post.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import regex

POSTS = "app.bsky.feed.post"
_TID = re.compile(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}")
_URI = re.compile(r"\w+:(?://)?[^\s/][^\s]*")
_DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]")
_FACET = "app.bsky.richtext.facet"


class Invalid(Exception):
    """A record that the server refuses, with the reason."""


def check(rkey: str, record: Any, blobs: Mapping[str, Any], posts: Mapping[str, Any]) -> None:
    """Raise `Invalid` unless `record` is valid as `rkey`; `blobs` and `posts` exist."""
    _require(_TID.fullmatch(rkey), f"Invalid record key {rkey}: Expected a tid")
    _require(isinstance(record, dict) and record.get("$type") == POSTS, "Invalid $type")
    unknown = set(record) - {"$type", "text", "createdAt", "langs", "facets", "embed", "reply"}
    _require(not unknown, f"the appliance has no business to send {unknown}")
    text = record.get("text")
    _require(isinstance(text, str), "Record must have the property text")
    _require(len(text.encode()) <= 3000, "Record/text must not be longer than 3000 characters")
    _require(len(regex.findall(r"\X", text)) <= 300, "Record/text must not be longer than 300 graphemes")
    _check_time(record.get("createdAt"))
    langs = record.get("langs", [])
    _require(isinstance(langs, list) and len(langs) <= 3, "Record/langs must not have more than 3 elements")
    _check_facets(record.get("facets", []), text.encode())
    if "embed" in record:
        _check_images(record["embed"], blobs)
    if "reply" in record:
        for end in ("root", "parent"):
            named = record["reply"].get(end, {})
            post = posts.get(named.get("uri", "").rpartition("/")[2], {})
            _require(named == {"uri": post.get("uri"), "cid": post.get("cid")}, f"Record/reply/{end} is not there")


def _require(condition: object, message: str) -> None:
    if not condition:
        raise Invalid(message)


def _check_time(text: Any) -> None:
    shape = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    _require(isinstance(text, str) and re.fullmatch(shape, text), "Record/createdAt must be an valid atproto datetime")
    datetime.fromisoformat(text)


def _check_facets(facets: Any, text: bytes) -> None:
    _require(isinstance(facets, list), "Record/facets must be an array")
    before = 0
    for facet in sorted(facets, key=lambda each: each["index"]["byteStart"]):
        start, end = facet["index"]["byteStart"], facet["index"]["byteEnd"]
        _require(before <= start < end <= len(text), f"a facet from {start} to {end} of {len(text)} after {before}")
        before = end
        try:
            text[start:end].decode()
        except UnicodeDecodeError:
            raise Invalid(f"the facet from {start} to {end} takes a character apart") from None
        (feature,) = facet["features"]
        match feature["$type"].removeprefix(f"{_FACET}#"):
            case "link":
                _require(_URI.fullmatch(feature["uri"]) and feature["uri"].isascii(), "facet uri must be a uri")
            case "tag":
                _require(len(feature["tag"].encode()) <= 640, "tag must not be longer than 640 characters")
                _require(len(regex.findall(r"\X", feature["tag"])) <= 64, "tag must not be longer than 64 graphemes")
            case "mention":
                _require(_DID.fullmatch(feature["did"]), "facet did must be a valid did")
            case kind:
                raise Invalid(f"no facet is of type {kind}")


def _check_images(embed: Any, blobs: Mapping[str, Any]) -> None:
    _require(embed["$type"] == "app.bsky.embed.images", "Record/embed is of no known type")
    _require(1 <= len(embed["images"]) <= 4, "Record/embed/images must not have more than 4 elements")
    for each in embed["images"]:
        _require(isinstance(each["alt"], str), "Record/embed/images/alt must be a string")
        blob = each["image"]
        _require(blobs.get(blob["ref"]["$link"]) == blob, f"Could not find blob: {blob['ref']['$link']}")
        _require(blob["size"] <= 1_000_000, f"File too large. It is {blob['size']} bytes but the maximum size is 1MB.")
        _require(blob["mimeType"].startswith("image/"), f"Wrong mimetype. It is {blob['mimeType']}")
        ratio = each.get("aspectRatio", {"width": 1, "height": 1})
        _require(set(ratio) == {"width", "height"} and min(ratio.values()) >= 1, "Record/embed/images/aspectRatio")
