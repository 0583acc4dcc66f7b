"""What methods know about a log, as arrays: queries and their affinity, events, profiles, concepts, interests, groups,
pages, documents, walks through a website, counts of visits, private selection.

Most of them load numba, so methods and measures import them where they use them.
"""
