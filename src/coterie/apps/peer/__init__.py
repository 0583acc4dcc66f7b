"""Peer: a local search address for one person and their friends. Experimental, and without a promise.

    home            the private folder: settings, keys, friends, open invitations
    identity        a certificate, its fingerprint, and TLS between friends who know each other's
    invitations     one-time codes that make two peers friends
    results         what a back end or a friend answers, made harmless
    back_end        SearXNG, or any address with a place for the query
    answers         a limit for what others send: bytes, seconds, kinds
    memory          answers to repeats, in memory
    meter           how much a query points at its author
    personal        what looks like personal data, and asking before it leaves
    pace            rates, credit and back-off
    circle          friends while it runs: who submits a query, who may ask
    links           what friends say to each other, both sides
    local           the address for the browser
    pages           its pages
    service         all of it as one process

Nothing here stores or logs a query unless the user names a file for it. docs/peer.md says what this is good for.
"""
