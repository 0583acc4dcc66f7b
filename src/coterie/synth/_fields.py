"""Everyday English nouns by field, for the generator of people; written down for this purpose, from no log.

Neighbouring fields are related, and a word may be in several. The most general words of a field come first.
"""

from __future__ import annotations

_FIELDS = """
house: home room house window door roof floor wall kitchen bathroom bedroom stairs ceiling closet basement attic
    chimney hallway porch garage fireplace paint tile carpet wood brick lamp furnace plumbing faucet sink cabinet
    insulation shutter
furniture: chair table bed sofa desk mattress shelf lamp pillow curtain rug mirror drawer dresser blanket cushion
    bookcase couch stool bench cradle wardrobe quilt sheet clock vase candle basket leather oak pine
garden: plant flower tree seed soil grass lawn rose fence hedge tulip orchid fern bulb weed mulch shovel pond
    compost greenhouse shrub vine daisy lily tomato herb pumpkin sunflower rake hose fountain gravel patio maple
farm: horse cow field barn tractor corn wheat hay sheep goat pig chicken egg saddle stable harvest orchard silo
    cattle fence plow apple soybean cotton donkey pasture wool turkey dairy acre rooster
cooking: recipe food cake chicken soup bread salad sauce cookie rice pasta cheese beef oven pie potato shrimp pepper
    chocolate butter garlic onion lemon grill casserole cinnamon pudding sausage stew bean muffin pancake vinegar
    honey
dining: restaurant menu wine beer coffee dinner lunch pizza tea bar steak seafood buffet breakfast bakery waiter
    lobster cocktail catering vodka whiskey sushi cafe bagel dessert sandwich espresso brewery napkin banquet
diet: weight diet calorie vitamin protein fat fiber sugar fruit exercise vegetable carbohydrate cholesterol mineral
    juice muscle supplement calcium nutrition appetite gym treadmill yoga waist metabolism yogurt spinach almond
    salt
illness: disease symptom pain cancer infection virus fever diabetes allergy asthma arthritis headache rash stroke
    tumor cough anemia ulcer migraine pneumonia swelling inflammation measles lupus hepatitis epilepsy flu gout
    hives
medicine: doctor hospital surgery drug treatment nurse therapy pill clinic dentist tooth prescription dose vaccine
    pharmacy knee spine heart lung liver kidney skin bone blood bandage physician antibiotic aspirin insulin
family: baby child mother wedding father parent marriage birth daughter son grandmother sister brother pregnancy
    divorce adoption nursery twin cousin ancestor diaper stroller crib uncle aunt toddler widow engagement bride
names: name meaning surname genealogy census cemetery obituary birth record funeral grave ancestor county church
    tombstone archive immigrant ship parish crest heritage clan descendant monument reunion
pets: dog cat puppy kitten breed bird parrot fish hamster rabbit leash kennel collar terrier poodle retriever cage
    aquarium veterinarian flea spaniel beagle canary ferret turtle bulldog guppy grooming whisker shepherd
wildlife: animal snake bear wolf deer eagle lion tiger spider shark whale frog insect butterfly owl elephant monkey
    dolphin lizard bee squirrel raccoon coyote hawk beetle ant alligator penguin fox bat mosquito
outdoors: camp river lake mountain trail tent park forest cabin fishing hunting canoe kayak backpack campground bait
    rifle trout bass lure boot compass lantern waterfall valley creek hook reel canyon cliff elk
water: boat ocean beach island sail pool swimming surf ship wave dock yacht harbor anchor reef tide diving cruise
    lighthouse ferry raft paddle shore marina snorkel submarine propeller coast lagoon captain
sport: team player game score coach league football baseball basketball hockey soccer tennis golf stadium tournament
    ball bat racket helmet referee champion pitcher quarterback wrestling boxing track gymnastics softball bowling
    skate medal
motors: car truck engine tire motorcycle brake dealer race wheel transmission battery bumper fuel exhaust trailer
    radiator carburetor piston clutch windshield horsepower mileage convertible van jeep muffler headlight gasket
    axle speedometer
travel: hotel flight airport vacation trip airline ticket map cruise resort passport luggage train station bus
    highway motel tour visa reservation suitcase pilot runway subway taxi itinerary villa hostel souvenir guidebook
places: city country capital state island river flag population village border bridge desert temple castle tower
    square palace volcano museum monument province continent climate language embassy colony ruin harbor canal
property: apartment rent estate landlord lease mortgage lot realtor land deed foreclosure tenant condominium mansion
    acreage zoning escrow appraisal builder cottage duplex broker listing auction neighborhood mover storage
money: bank loan credit account tax stock interest debt check investment fund mortgage dollar savings bond coin
    budget pension insurance refund inflation dividend broker currency payroll audit bankruptcy wallet annuity
work: job career employment salary resume office interview manager employee secretary union wage overtime internship
    skill retirement benefit uniform supervisor clerk accountant welder electrician mechanic plumber carpenter
    driver cashier
law: court lawyer law judge crime prison police jury arrest contract will custody lawsuit warrant trial license
    attorney copyright patent felony probation inmate evidence sheriff murder fraud theft bail verdict statute
government: president election vote congress senator governor mayor tax party war bill army veteran treaty
    constitution budget policy ambassador immigration citizenship democracy poll campaign protest navy soldier
    missile tank
school: school student teacher college class university grade test lesson scholarship homework essay exam diploma
    campus kindergarten tutor curriculum alphabet spelling algebra fraction worksheet textbook library classroom
    principal degree
science: science planet energy cell chemistry atom gene physics experiment star moon telescope molecule gravity
    fossil comet galaxy bacteria enzyme electron magnet laser microscope mineral acid evolution dinosaur orbit
    crystal
computers: computer software file printer screen keyboard disk password memory laptop modem network driver monitor
    mouse program virus backup font cable router server scanner icon browser download desktop spreadsheet processor
phones: phone ring camera plan battery number antenna message headset charger call wireless speaker radio television
    remote cable satellite recorder lens tripod film flash microphone stereo headphone projector
play: game toy puzzle doll chess card poker dice cheat robot dragon castle arcade joystick riddle lego train marble
    sudoku crossword kite casino lottery bingo slot jackpot blackjack domino yoyo wizard knight
music: song music guitar lyric piano band album drum concert violin singer opera jazz trumpet chord flute orchestra
    choir banjo saxophone ballet melody cello clarinet symphony rapper harp karaoke hymn playlist tempo
screen: movie actor film show actress star episode theater television comedy cartoon drama trailer celebrity
    director script ticket award soap anime series villain vampire zombie superhero sequel documentary premiere
books: book poem author story novel quote poetry library magazine newspaper myth legend fairy publisher essay bible
    dictionary grammar encyclopedia fable biography chapter hero goddess sonnet haiku proverb editor
crafts: pattern craft bead yarn fabric quilt thread needle knitting crochet stamp ribbon pottery clay sewing loom
    glue scrapbook stencil wreath lace button embroidery felt origami canvas painting sculpture frame easel mosaic
clothes: dress shoe shirt jacket hat jeans skirt coat boot sock belt purse glove scarf sandal sweater swimsuit
    lingerie tuxedo gown uniform costume button zipper silk denim bra heel pajamas vest apron collar
beauty: hair ring skin makeup perfume nail jewelry diamond necklace earring bracelet tattoo lipstick salon spa
    lotion gold silver pearl wig shampoo haircut curl braid mascara piercing soap cosmetic watch pendant emerald
holidays: party christmas gift birthday card costume easter halloween invitation decoration balloon santa ornament
    cake candy wreath pumpkin parade fireworks valentine wedding shower favor toast ghost mask calendar thanksgiving
faith: church god prayer bible angel jesus priest saint religion cross temple heaven sermon hymn pastor prophet monk
    baptism cathedral psalm gospel miracle devil soul meditation monastery pope sabbath choir pilgrim
tools: tool saw drill hammer machine nail pump paint pipe screw bolt wire switch ladder motor generator wrench lathe
    weld steel concrete lumber valve circuit plywood solder fan heater thermostat fuse hinge sander
"""


def _by_field() -> list[list[str]]:
    fields: list[list[str]] = []
    for word in _FIELDS.split():
        if word.endswith(":"):
            fields.append([])
        else:
            fields[-1].append(word)
    return fields


def _plural(noun: str) -> str:
    """The plural of a noun, or the noun where that takes more than an s."""
    return noun if noun.endswith(("s", "x", "y", "f", "o", "ch", "sh", "man", "fish", "deer", "sheep")) else noun + "s"


FIELDS = _by_field()
NOUNS = list(dict.fromkeys(word for field in FIELDS for word in field))
PLURALS = [_plural(noun) for noun in NOUNS]
