"""Function words: articles, prepositions, conjunctions, pronouns and auxiliary verbs, which mean nothing by themselves.

An n-gram made only of these is no concept (paper 001). The lists are short on purpose, shorter than lists of stop
words: what is on them is released without having been compared. Promises name them, so a list never changes; a better
one gets another name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from coterie.errors import InputError
from coterie.text.words import digest_of

_LISTS = {
    "english": """
a an the and or but nor so yet if of in on at to from by for with about as into over under after before between through
during without within against upon off out up down is are was were be been being am do does did doing have has had
having can could may might must shall should will would i you he she it we they me him her us them my your his its our
their mine yours ours theirs this that these those who whom whose which what not no than then
""",
    "german": """
der die das den dem des ein eine einen einem einer eines und oder aber sondern denn doch wenn als ob dass daß weil von
vom in im ins an am ans auf aus bei beim bis durch für gegen mit nach ohne seit über um unter vor während wegen zu zum
zur zwischen ist sind war waren sein bin bist seid gewesen wird werden wurde wurden worden habe hast hat haben hatte
hatten kann können konnte muss müssen musste soll sollen sollte will wollen wollte darf dürfen mag möchte ich du er sie
es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich mein meine meinen meinem meiner meines dein deine deinen deinem
deiner seine seinen seinem seiner seines ihre ihren ihrem ihrer ihres unser unsere unseren unserem unserer euer eure
dieser diese dieses diesen diesem jener jene jenes wer wen wem wessen was welcher welche welches welchen welchem nicht
kein keine keinen keinem keiner so wie dann
""",
    "french": """
le la les l un une des du de d au aux et ou mais ni car donc si que qu qui quoi dont où à en dans sur sous par pour avec
sans chez vers entre contre depuis pendant avant après comme est sont était étaient être été suis es sommes êtes ai as a
avons avez ont avait avaient avoir eu fait faire peut peuvent pouvoir doit doivent devoir je j tu il elle on nous vous
ils elles me m te t se s lui leur leurs eux moi toi soi mon ma mes ton ta tes son sa ses notre nos votre vos ce cet
cette ces c quel quelle quels quelles ne n pas non y
""",
    "spanish": """
el la los las lo un una unos unas y e o u pero sino ni si que de del a al en con sin por para sobre bajo entre contra
desde hasta hacia según durante ante tras como es son era eran ser sido soy eres somos está están estar estaba estoy ha
han he has hay había haber puede pueden poder debe deben deber yo tú él ella nosotros vosotros ellos ellas usted ustedes
me te se nos os le les mi mis tu tus su sus nuestro nuestra nuestros nuestras vuestro vuestra este esta estos estas ese
esa esos esas aquel aquella esto eso quien quienes cual cuales cuyo cuya qué quién cuál no
""",
    "italian": """
il lo la i gli le l un uno una e ed o od ma né se che chi cui di del dello della dei degli delle d a ad al allo alla ai
agli alle da dal dallo dalla dai dagli dalle in nel nello nella nei negli nelle con col su sul sullo sulla sui sugli
sulle per tra fra senza contro verso durante dopo prima come è sono era erano essere stato stata sei siamo siete ho hai
ha abbiamo avete hanno aveva avere può possono potere deve devono dovere io tu lui lei noi voi loro mi ti si ci vi ne
mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra questo questa questi queste
quello quella quelli quelle quale quali non
""",
    "portuguese": """
o a os as um uma uns umas e ou mas nem se que de do da dos das em no na nos nas num numa ao à aos às por pelo pela pelos
pelas para com sem sobre sob entre contra desde até durante após como é são era eram ser sido sou somos está estão estar
estava foi foram tem têm ter tinha há haver pode podem poder deve devem dever eu tu ele ela nós vós eles elas você vocês
me te lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos nossas este esta estes estas esse essa
esses essas aquele aquela isto isso quem qual quais cujo cuja não
""",
    "dutch": """
de het een en of maar want als dat omdat van in op aan bij uit om te ten ter tot naar met zonder voor door over onder
tussen tegen na tijdens sinds is zijn was waren ben bent geweest wordt worden werd werden heb hebt heeft hebben had
hadden kan kunnen kon moet moeten moest mag mogen zal zullen zou zouden wil willen ik jij je u hij zij ze wij we jullie
mij me jou hem haar ons hen hun zich mijn jouw uw onze deze dit die wie wat welke welk wiens niet geen er dan
""",
    "swedish": """
en ett den det de och eller men utan om att som av i på till från med för vid under över mellan mot genom efter före hos
ur är var vara varit blir bli blev har hade ha kan kunde ska skall skulle må måste vill ville får jag du han hon vi ni
mig dig honom henne oss er dem sig min mitt mina din ditt dina sin sitt sina hans hennes vår vårt våra deras denna detta
dessa vem vad vilken vilket vilka inte ej än då
""",
    "danish": """
en et den det de og eller men om at som af i på til fra med for ved under over mellem mod gennem efter før hos er var
være været bliver blive blev har havde have kan kunne skal skulle må måtte vil ville jeg du han hun vi i mig dig ham
hende os jer dem sig min mit mine din dit dine sin sit sine hans hendes vores deres denne dette disse hvem hvad hvilken
hvilket hvilke ikke end da
""",
    "norwegian": """
en ei et den det de og eller men om at som av i på til fra med for ved under over mellom mot gjennom etter før hos er
var være vært blir bli ble har hadde ha kan kunne skal skulle må måtte vil ville jeg du han hun vi dere meg deg ham
henne oss dem seg min mitt mine din ditt dine sin sitt sine hans hennes vår vårt våre deres denne dette disse hvem hva
hvilken hvilket hvilke ikke enn da
""",
    "polish": """
i a lub albo ale oraz czy że żeby aby jeśli gdy bo w we z ze na do od po za przez przed przy dla o u pod nad między bez
ku jest są był była było były być będzie będą jestem jesteś ma mają mieć może mogą ja ty on ona ono my wy oni one mnie
mi ciebie ci cię jego go jemu mu jej ją nas nam was wam ich im nich się mój moja moje twój twoja twoje swój swoja swoje
nasz nasza nasze wasz ten ta to te ci tego tej tych tym kto co który która które którzy których nie
""",
    "russian": """
и или но а да же ли бы если что чтобы как в во с со к ко на о об от до из за по под над при для без через между у это
быть был была было были есть будет будут я ты он она оно мы вы они меня мне тебя тебе его ему ее её ей нас нам вас вам
их им себя мой моя мое моё мои твой твоя свой своя свои наш наша ваш этот эта эти тот та те кто который которая которое
которые чей не ни
""",
}
FUNCTION_WORDS = {name: frozenset(text.split()) for name, text in _LISTS.items()}
"""The lists that have a name; it is that of a language."""
FUNCTION_LISTS = {**FUNCTION_WORDS, "none": frozenset[str]()}


def function_words(choice: str) -> frozenset[str]:
    """The function words of a list with a name, or of a UTF-8 file: words separated by spaces and line ends.

    Words of a file are spelled as `normalize` spells queries.
    """
    if choice in FUNCTION_LISTS:
        return FUNCTION_LISTS[choice]
    try:
        text = Path(choice).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{Path(choice).name}, a file of function words, is not UTF-8 text.") from None
    listed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower()).split()
    if not listed:
        raise InputError(f"{Path(choice).name} has no function word in it. For no function words say 'none'.")
    return frozenset(listed)


def name_of_words(words: Iterable[str]) -> str:
    """The name of a list of function words, or a digest of one that has none: what everybody may know of it."""
    listed = frozenset(words)
    return next((name for name, named in FUNCTION_LISTS.items() if listed == named), digest_of(listed))
