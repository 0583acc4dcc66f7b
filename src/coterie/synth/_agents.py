"""User agents for the synthetic access log: what browsers and programs call themselves; written down for this purpose.

One entry each, on one line or two: weight, versions that `{}` stands for (later ones are more frequent), the agent.
`~` and `^` stand for words that nearly all have.
"""

from __future__ import annotations

import numpy as np

from coterie.core.arrays import Floats, Ints
from coterie.synth._words import cumulative

_WORDS = {"~": "AppleWebKit/537.36 (KHTML, like Gecko)", "^": "AppleWebKit/605.1.15 (KHTML, like Gecko)"}
_BROWSERS = """
220 | 118 119 120 121 122 123 124 | Mozilla/5.0 (Windows NT 10.0; Win64; x64) ~ Chrome/{}.0.0.0 Safari/537.36
60 | 120 121 122 123 124 | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ~ Chrome/{}.0.0.0 Safari/537.36
16 | 120 122 123 124 | Mozilla/5.0 (X11; Linux x86_64) ~ Chrome/{}.0.0.0 Safari/537.36
5 | 120 123 124 | Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ~ Chrome/{}.0.0.0 Safari/537.36
150 | 119 120 121 122 123 124 | Mozilla/5.0 (Linux; Android 10; K) ~ Chrome/{}.0.0.0 Mobile Safari/537.36
12 | 122 123 124 | Mozilla/5.0 (Linux; Android 10; K) ~ Chrome/{}.0.0.0 Safari/537.36
60 | 121 122 123 124 | Mozilla/5.0 (Windows NT 10.0; Win64; x64) ~ Chrome/{0}.0.0.0 Safari/537.36 Edg/{0}.0.0.0
3 | 123 124 | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ~ Chrome/{0}.0.0.0 Safari/537.36 Edg/{0}.0.0.0
10 | 107 108 109 | Mozilla/5.0 (Windows NT 10.0; Win64; x64) ~ Chrome/123.0.0.0 Safari/537.36 OPR/{}.0.0.0
6 | 109 | Mozilla/5.0 (Windows NT 6.1; Win64; x64) ~ Chrome/{}.0.0.0 Safari/537.36
45 | 115 121 122 123 124 125 | Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0
14 | 115 123 124 125 | Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0
8 | 123 124 125 | Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0
9 | 115 124 125 | Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:{0}.0) Gecko/20100101 Firefox/{0}.0
9 | 123 124 125 | Mozilla/5.0 (Android 13; Mobile; rv:{0}.0) Gecko/{0}.0 Firefox/{0}.0
90 | 16_1 16_6 17_1 17_2 17_3 17_4 | Mozilla/5.0 (iPhone; CPU iPhone OS {0} like Mac OS X) ^ Version/17.4
    Mobile/15E148 Safari/604.1
40 | 15_6 15_7 15_8 | Mozilla/5.0 (iPhone; CPU iPhone OS {0} like Mac OS X) ^ Version/15.6 Mobile/15E148 Safari/604.1
14 | 12_5 16_7 17_4 | Mozilla/5.0 (iPad; CPU OS {0} like Mac OS X) ^ Version/16.6 Mobile/15E148 Safari/604.1
45 | 16.5 16.6 17.1 17.2 17.3 17.4 | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ^ Version/{} Safari/605.1.15
5 | 13.1 14.1 15.6 | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_13_6) ^ Version/{} Safari/605.1.15
18 | 121.0.6167.138 122.0.6261.89 123.0.6312.52 124.0.6367.88 | Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like
    Mac OS X) ^ CriOS/{} Mobile/15E148 Safari/604.1
6 | 312.0.621045 313.2.623480 | Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) ^ GSA/{} Mobile/15E148
    Safari/604.1
14 | 22.0 23.0 24.0 | Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-A536B) ~ SamsungBrowser/{} Chrome/115.0.0.0
    Mobile Safari/537.36
6 | 20.0 23.0 24.0 | Mozilla/5.0 (Linux; Android 12; SAMSUNG SM-G991U) ~ SamsungBrowser/{} Chrome/115.0.0.0
    Mobile Safari/537.36
5 | 120.0.6099.144 121.0.6167.178 122.0.6261.119 124.0.6367.82 | Mozilla/5.0 (Linux; Android 13; SM-A146P
    Build/TP1A.220624.014; wv) ~ Version/4.0 Chrome/{} Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/459.0.0.45.109;]
4 | 119.0.6045.193 122.0.6261.64 123.0.6312.99 124.0.6367.54 | Mozilla/5.0 (Linux; Android 11; M2101K6G
    Build/RKQ1.200826.002; wv) ~ Version/4.0 Chrome/{} Mobile Safari/537.36
4 | 119.0.6045.163 123.0.6312.80 124.0.6367.113 | Mozilla/5.0 (Linux; Android 14; Pixel 7a
    Build/UQ1A.240205.002; wv) ~ Version/4.0 Chrome/{} Mobile Safari/537.36
4 | 451.0.0.33 455.0.0.28 460.0.0.33 | Mozilla/5.0 (iPhone; CPU iPhone OS 17_3_1 like Mac OS X) ^ Mobile/21D61
    [FBAN/FBIOS;FBAV/{};FBDV/iPhone14,5]
3 | 323.0.0.35 325.0.2.23 | Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) ^ Mobile/15E148 Instagram {}.101
3 | 13.4.0.1306 15.5.1.1307 | Mozilla/5.0 (Linux; U; Android 9; en-US; Redmi Note 8) ~ Version/4.0
    Chrome/100.0.4896.58 UCBrowser/{} Mobile Safari/537.36
2 | 76.0.4017 80.0.4170 | Mozilla/5.0 (Linux; Android 12; moto g(60)) ~ Chrome/122.0.0.0 Mobile Safari/537.36 OPR/{}
2 | 1.64 1.65 | Mozilla/5.0 (Linux; Android 13; CUBOT P80) ~ Chrome/121.0.0.0 Mobile Safari/537.36 Brave/{}
3 | 4.0C 4.0E | Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; .NET{}; rv:11.0) like Gecko
1 | 49.0.2623.112 | Mozilla/5.0 (Windows NT 5.1) ~ Chrome/{} Safari/537.36
1 | 94.3.7 94.3.9 | Mozilla/5.0 (Linux; Android 11; KFTRWI) ~ Silk/{} like Chrome/94.0.4606.126 Safari/537.36
"""
_BOTS = """
30 | 2.1 | Mozilla/5.0 (compatible; Googlebot/{}; +http://www.google.com/bot.html)
14 | 124.0.6367.78 | Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) ~ Chrome/{} Mobile Safari/537.36
    (compatible; Googlebot/2.1; +http://www.google.com/bot.html)
22 | 2.0 | Mozilla/5.0 (compatible; bingbot/{}; +http://www.bing.com/bingbot.htm)
8 | 3.0 | Mozilla/5.0 (compatible; YandexBot/{}; +http://yandex.com/bots)
14 | 7.0 | Mozilla/5.0 (compatible; AhrefsBot/{}; +http://ahrefs.com/robot/)
12 | 7-bl | Mozilla/5.0 (compatible; SemrushBot/{}; +http://www.semrush.com/bot.html)
8 | 1.2 | Mozilla/5.0 (compatible; DotBot/{}; +https://opensiteexplorer.org/dotbot; help@moz.com)
8 | v1.4.8 | Mozilla/5.0 (compatible; MJ12bot/{}; http://mj12bot.com/)
9 | 0.6 | Mozilla/5.0 (Linux; Android 7.0;) ~ (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)
9 | 1.0 1.1 | Mozilla/5.0 ~; compatible; GPTBot/{}; +https://openai.com/gptbot
4 | 2.0 | CCBot/{} (https://commoncrawl.org/faq/)
5 | 0.1 | Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) ^ Version/13.1.1 Safari/605.1.15 (Applebot/{})
4 | 1.1 | facebookexternalhit/{} (+http://www.facebook.com/externalhit_uatext.php)
3 | 1.0 | Twitterbot/{}
6 | 2.0 | Mozilla/5.0+(compatible; UptimeRobot/{}; http://www.uptimerobot.com/)
5 | 1.0 | Feedly/{} (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)
3 | 1.21.3 | Wget/{}
6 | 7.81.0 7.88.1 8.5.0 | curl/{}
10 | 2.28.1 2.31.0 | python-requests/{}
6 | 1.1 2.0 | Go-http-client/{}
3 | 4.5.13 | Apache-HttpClient/{} (Java/11.0.22)
10 | 78 89 | Mozilla/5.0 (Windows NT 10.0; Win64; x64) ~ Chrome/{}.0.4280.141 Safari/537.36
"""


def _table(lines: str) -> tuple[list[str], Floats, Ints]:
    """The agents, how frequent they are, and which one each becomes when it is brought up to date."""
    agents: list[str] = []
    weights: list[float] = []
    following: list[int] = []
    for line in lines.strip().replace("\n   ", "").splitlines():
        weight, versions, agent = (part.strip() for part in line.split("|", 2))
        for mark, words in _WORDS.items():
            agent = agent.replace(mark, words)
        written = [agent.format(version) for version in versions.split()]
        shares = range(1, len(written) + 1)
        last = len(agents) + len(written) - 1
        following += [min(len(agents) + place, last) for place in shares]
        weights += [float(weight) * share / sum(shares) for share in shares]
        agents += written
    return agents, cumulative(weights), np.array(following)


BROWSERS, BROWSER_CDF, UPDATED = _table(_BROWSERS)
BOTS, BOT_CDF, _ = _table(_BOTS)
