"""Text rules of X: length, web addresses, emoji, top-level domains."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

# All top-level domains, as IANA lists them: data.iana.org/TLD/tlds-alpha-by-domain.txt, version
# 2026100300. Domains in other scripts are in Punycode, as in the list.
_DELEGATED = """
aaa aarp abb abbott abbvie abc able abogado abudhabi ac academy accenture accountant accountants aco actor ad ads
adult ae aeg aero aetna af afl africa ag agakhan agency ai aig airbus airforce airtel akdn al alibaba alipay allfinanz
allstate ally alsace alstom am amazon americanexpress americanfamily amex amfam amica amsterdam analytics android
anquan anz ao aol apartments app apple aq aquarelle ar arab aramco archi army arpa art arte as asda asia associates at
athleta attorney au auction audi audible audio auspost author auto autos aw aws ax axa az azure ba baby baidu banamex
band bank bar barcelona barclaycard barclays barefoot bargains baseball basketball bauhaus bayern bb bbc bbt bbva bcg
bcn bd be beats beauty beer berlin best bestbuy bet bf bg bh bharti bi bible bid bike bing bingo bio biz bj black
blackfriday blockbuster blog bloomberg blue bm bms bmw bn bnpparibas bo boats boehringer bofa bom bond boo book
booking bosch bostik boston bot boutique box br bradesco bridgestone broadway broker brother brussels bs bt build
builders business buy buzz bv bw by bz bzh ca cab cafe cal call calvinklein cam camera camp canon capetown capital
capitalone car caravan cards care career careers cars casa case cash casino cat catering catholic cba cbn cbre cc cd
center ceo cern cf cfa cfd cg ch chanel channel charity chase chat cheap chintai christmas chrome church ci cipriani
circle cisco citadel citi citic city ck cl claims cleaning click clinic clinique clothing cloud club clubmed cm cn co
coach codes coffee college cologne com commbank community company compare computer comsec condos construction
consulting contact contractors cooking cool coop corsica country coupon coupons courses cpa cr credit creditcard
creditunion cricket crown crs cruise cruises cu cuisinella cv cw cx cy cymru cyou cz dad dance data date dating datsun
day dclk dds de deal dealer deals degree delivery dell deloitte delta democrat dental dentist desi design dev dhl
diamonds diet digital direct directory discount discover dish diy dj dk dm dnp do docs doctor dog domains dot download
drive dtv dubai dupont durban dvag dvr dz earth eat ec eco edeka edu education ee eg email emerck energy engineer
engineering enterprises epson equipment er ericsson erni es esq estate et eu eurovision eus events exchange expert
exposed express extraspace fage fail fairwinds faith family fan fans farm farmers fashion fast fedex feedback ferrari
ferrero fi fidelity fido film final finance financial fire firestone firmdale fish fishing fit fitness fj fk flickr
flights flir florist flowers fly fm fo foo food football ford forex forsale forum foundation fox fr free fresenius frl
frogans frontier ftr fujitsu fun fund furniture futbol fyi ga gal gallery gallo gallup game games gap garden gay gb
gbiz gd gdn ge gea gent genting george gf gg ggee gh gi gift gifts gives giving gl glass gle global globo gm gmail
gmbh gmo gmx gn godaddy gold goldpoint golf goodyear goog google gop got gov gp gq gr grainger graphics gratis green
gripe grocery group gs gt gu gucci guge guide guitars guru gw gy hair hamburg hangout haus hbo hdfc hdfcbank health
healthcare help helsinki here hermes hiphop hisamitsu hitachi hiv hk hkt hm hn hockey holdings holiday homedepot
homegoods homes homesense honda horse hospital host hosting hot hotels hotmail house how hr hsbc ht hu hughes hyatt
hyundai ibm icbc ice icu id ie ieee ifm ikano il im imamat imdb immo immobilien in inc industries infiniti info ing
ink institute insurance insure int international intuit investments io ipiranga iq ir irish is ismaili ist istanbul it
itau itv jaguar java jcb je jeep jetzt jewelry jio jll jm jmp jnj jo jobs joburg jot joy jp jpmorgan jprs juegos
kaufen kddi ke kerryhotels kerryproperties kfh kg kh ki kia kids kim kindle kitchen kiwi km kn koeln komatsu kosher kp
kpmg kpn kr krd kred kuokgroup kw ky kyoto kz la lacaixa lamborghini lamer land landrover lanxess lasalle lat latino
latrobe law lawyer lb lc lds lease leclerc lefrak legal lego lexus lgbt li lidl life lifeinsurance lifestyle lighting
like lilly limited limo lincoln link live living lk llc llp loan loans locker locus lol london lotte lotto love lpl
lplfinancial lr ls lt ltd ltda lu lundbeck luxe luxury lv ly ma madrid maif maison makeup man management mango map
market marketing markets marriott marshalls mattel mba mc mckinsey md me med media meet melbourne meme memorial men
menu merck merckmsd mg mh miami microsoft mil mini mint mit mitsubishi mk ml mlb mls mm mma mn mo mobi mobile moda moe
moi mom monash money monster mormon mortgage moscow moto motorcycles mov movie mp mq mr ms msd mt mtn mtr mu museum
music mv mw mx my mz na nab nagoya name navy nba nc ne nec net netbank netflix network neustar new news next
nextdirect nexus nf nfl ng ngo nhk ni nico nike nikon ninja nissan nissay nl no nokia norton now nowruz nowtv np nr
nra nrw ntt nu nyc nz obi observer office okinawa olayan olayangroup ollo om omega one ong onl online ooo open oracle
orange org organic origins osaka otsuka ott ovh pa page panasonic paris pars partners parts party pay pccw pe pet pf
pfizer pg ph pharmacy phd philips phone photo photography photos physio pics pictet pictures pid pin ping pink pioneer
pizza pk pl place play playstation plumbing plus pm pn pnc pohl poker politie porn post pr praxi press prime pro prod
productions prof progressive promo properties property protection pru prudential ps pt pub pw pwc py qa qpon quebec
quest racing radio re read realestate realtor realty recipes red redumbrella rehab reise reisen reit reliance ren rent
rentals repair report republican rest restaurant review reviews rexroth rich richardli ricoh ril rio rip ro rocks
rodeo rogers room rs rsvp ru rugby ruhr run rw rwe ryukyu sa saarland safe safety sakura sale salon samsclub samsung
sandvik sandvikcoromant sanofi sap sarl sas save saxo sb sbi sbs sc scb schaeffler schmidt scholarships school schule
schwarz science scot sd se search seat secure security seek select sener services seven sew sex sexy sfr sg sh
shangrila sharp shell shia shiksha shoes shop shopping shouji show si silk sina singles site sj sk ski skin sky skype
sl sling sm smart smile sn sncf so soccer social softbank software sohu solar solutions song sony soy spa space sport
spot sr srl ss st stada staples star statebank statefarm stc stcgroup stockholm storage store stream studio study
style su sucks supplies supply support surf surgery suzuki sv swatch swiss sx sy sydney systems sz tab taipei talk
taobao target tatamotors tatar tattoo tax taxi tc tci td tdk team tech technology tel temasek tennis teva tf tg th thd
theater theatre tiaa tickets tienda tips tires tirol tj tjmaxx tjx tk tkmaxx tl tm tmall tn to today tokyo tools top
toray toshiba total tours town toyota toys tr trade trading training travel travelers travelersinsurance trust trv tt
tube tui tunes tushu tv tvs tw tz ua ubank ubs ug uk unicom university uno uol ups us uy uz va vacations vana vanguard
vc ve vegas ventures verisign versicherung vet vg vi viajes video vig viking villas vin vip virgin visa vision viva
vivo vlaanderen vn vodka volvo vote voting voto voyage vu wales walmart walter wang wanggou watch watches weather
weatherchannel web webcam weber website wed wedding weibo weir wf whoswho wien wiki williamhill win windows wine
winners wme woodside work works world wow ws wtc wtf xbox xerox xihuan xin xn--11b4c3d xn--1ck2e1b xn--1qqw23a
xn--2scrj9c xn--30rr7y xn--3bst00m xn--3ds443g xn--3e0b707e xn--3hcrj9c xn--3pxu8k xn--42c2d9a xn--45br5cyl
xn--45brj9c xn--45q11c xn--4dbrk0ce xn--4gbrim xn--54b7fta0cc xn--55qw42g xn--55qx5d xn--5su34j936bgsg xn--5tzm5g
xn--6frz82g xn--6qq986b3xl xn--80adxhks xn--80ao21a xn--80aqecdr1a xn--80asehdb xn--80aswg xn--8y0a063a xn--90a3ac
xn--90ae xn--90ais xn--9dbq2a xn--9et52u xn--9krt00a xn--b4w605ferd xn--bck1b9a5dre4c xn--c1avg xn--c2br7g xn--cck2b3b
xn--cckwcxetd xn--cg4bki xn--clchc0ea0b2g2a9gcd xn--czr694b xn--czrs0t xn--czru2d xn--d1acj3b xn--d1alf xn--e1a4c
xn--eckvdtc9d xn--efvy88h xn--fct429k xn--fhbei xn--fiq228c5hs xn--fiq64b xn--fiqs8s xn--fiqz9s xn--fjq720a
xn--flw351e xn--fpcrj9c3d xn--fzc2c9e2c xn--fzys8d69uvgm xn--g2xx48c xn--gckr3f0f xn--gecrj9c xn--gk3at1e
xn--h2breg3eve xn--h2brj9c xn--h2brj9c8c xn--hxt814e xn--i1b6b1a6a2e xn--imr513n xn--io0a7i xn--j1aef xn--j1amh
xn--j6w193g xn--jlq480n2rg xn--jvr189m xn--kcrx77d1x4a xn--kprw13d xn--kpry57d xn--kput3i xn--l1acc xn--lgbbat1ad8j
xn--mgb9awbf xn--mgba3a3ejt xn--mgba3a4f16a xn--mgba7c0bbn0a xn--mgbaam7a8h xn--mgbab2bd xn--mgbah1a3hjkrd
xn--mgbai9azgqp6j xn--mgbayh7gpa xn--mgbbh1a xn--mgbbh1a71e xn--mgbc0a9azcg xn--mgbca7dzdo xn--mgbcpq6gpa1a
xn--mgberp4a5d4ar xn--mgbgu82a xn--mgbi4ecexp xn--mgbpl2fh xn--mgbt3dhd xn--mgbtx2b xn--mgbx4cd0ab xn--mix891f
xn--mk1bu44c xn--mxtq1m xn--ngbc5azd xn--ngbe9e0a xn--ngbrx xn--node xn--nqv7f xn--nqv7fs00ema xn--nyqy26a xn--o3cw4h
xn--ogbpf8fl xn--otu796d xn--p1acf xn--p1ai xn--pgbs0dh xn--pssy2u xn--q7ce6a xn--q9jyb4c xn--qcka1pmc xn--qxa6a
xn--qxam xn--rhqv96g xn--rovu88b xn--rvc1e0am3e xn--s9brj9c xn--ses554g xn--t60b56a xn--tckwe xn--tiq49xqyj xn--unup4y
xn--vermgensberater-ctb xn--vermgensberatung-pwb xn--vhquv xn--vuq861b xn--w4r85el8fhu5dnra xn--w4rs40l xn--wgbh1c
xn--wgbl6a xn--xhq521b xn--xkc2al3hye2a xn--xkc2dl3a5ee0h xn--y9a3aq xn--yfro4i67o xn--ygbi2ammx xn--zfr164b xxx xyz
yachts yahoo yamaxun yandex ye yodobashi yoga yokohama you youtube yt yun za zappos zara zero zip zm zone zuerich zw
"""

# Endings that are not in the root zone, but in the last list that X published: X may link a bare
# name with one.
_KNOWN_TO_X = """
abarth active adac afamilycompany aigo alfaromeo an avianca bananarepublic bentley bl blanco bnl boots bq budapest
bugatti cancerresearch cartier caseih cbs ceb chloe chrysler cityeats comcast cookingchannel csc dabur dodge doha
doosan duck dunlop duns eh epost esurance etisalat everbank fiat flsmidth foodnetwork frontdoor fujixerox glade goo
goodhands guardian hgtv honeywell hoteles htc iinet intel iselect iveco iwc jcp jlc juniper kerrylogistics kinder
ladbrokes lancaster lancia lancome liaison linde lipsy lixil loft lupin macys maserati mcd mcdonalds meo metlife mf
mobily montblanc mopar movistar mtpc mutual mutuelle nadex nationwide natura newholland northwesternmutual off oldnavy
onion onyourside orientexpress pamperedchef panerai passagens piaget pramerica qvc raid redstone rightathome rmit
rocher sapo sca scjohnson scor ses shaw showtime shriram spiegel spreadbetting srt starhub statoil swiftcover symantec
telecity telefonica tiffany tp travelchannel uconnect um vista vistaprint volkswagen vuelos warman wolterskluwer
xfinity xn--3oq18vl8pn36a xn--estv75g xn--jlq61u9w7b xn--kpu716f xn--mgbaakc7dvf xn--mgbb9fbpob xn--pbt977c xperia
zippo
"""


@cache
def _names() -> frozenset[str]:
    return frozenset((_DELEGATED + _KNOWN_TO_X).split())


def is_top_level(name: str) -> bool:
    """Return whether `name`, in any case and script, is a top-level domain."""
    name = name.lower()
    return (name if name.isascii() else "xn--" + name.encode("punycode", "replace").decode("ascii")) in _names()


_LATIN = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0253\u0254\u0256\u0257\u0259\u025b\u0263\u0268\u026f\u0272\u0289\u028b"
    "\u02bb\u0300-\u036f\u1e00-\u1eff"
)
_SPACE = r"\t-\r \u0085\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_NO_CHARACTER = "\ufffe\uffff\ufeff"
# a letter of a name, in any script
_LETTER = rf"[^!'#%&()*+,\\\-./:;<=>?@\[\]^_{{|}}~${_SPACE}{_DIRECTION}{_NO_CHARACTER}]"
_LABEL = rf"(?>{_LETTER}+(?:[_-]+{_LETTER}+)*)"
# X counts such a character as two UTF-16 units. The first one may stand before a name, even after $
# or #.
_ASTRAL = "[\U00010000-\U0010ffff]"
_HOST = rf"(?:([^A-Za-z0-9@\uff20$#\uff03{_NO_CHARACTER}])|^|(?={_ASTRAL}))(https?://)?({_LABEL}(?:\.{_LABEL})+)"
_NOT_BEFORE_NAME = "-_./"  # characters that may not precede a bare name
_WORD = f"{_LETTER}+"
_LATIN_LABELS = rf"(?:[-a-z0-9{_LATIN}]+\.)+"
_PUNYCODE = "xn--[-0-9a-z]+"
_GOES_ON = "[0-9a-z@+-]"  # characters that may not follow a top-level name

_IN_PATH = rf"[a-z0-9\u0400-\u04ff{_LATIN}!*';:=+,.$/%#\[\]\-\u2013_~@|&]"
_IN_BRACKETS = rf"\((?:{_IN_PATH}+|{_IN_PATH}*\({_IN_PATH}+\){_IN_PATH}*)\)"
_PATH_ENDS = rf"[a-z0-9\u0400-\u04ff{_LATIN}=+\-_#/]"  # or brackets, but only directly after one of these
_PATH = rf"/(?:(?:{_IN_PATH}|{_IN_BRACKETS})*{_PATH_ENDS}|{_IN_BRACKETS})*"
_QUERY = r"\?[a-z0-9!?*'@();:&=+$/%#\[\]\-_.,~|]*[a-z0-9\-_&=#/]"
_REST = rf"(?::[0-9]+)?({_PATH})?(?:{_QUERY})?"
_OWN = rf"https?://t\.co/([a-z0-9]+)(?:{_QUERY})?"
_LONGEST_OWN = 40  # characters after "t.co/"
_LONGEST = 4096
_LONGEST_LABEL = 63


@cache
def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)  # compiled at the first use, because compiling is slow


def find_links(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each web address in `text`, which must be in NFC."""
    at = 0
    while "." in text[at:] and (host := _rule(_HOST).search(text, at)):
        before, protocol, _ = host.groups()
        end = _end_of_name(text, host.start(3), host.end())
        if not end:
            # An address may begin in the middle of a match: at its http without a space before, or
            # after a _.
            at = host.start() + 1 if text.startswith("://", host.end()) or "_" in host[0] else host.end()
            continue
        rest = _rule(_REST).match(text, end)
        assert rest  # empty labels are possible
        at = rest.end()
        name = text[host.start(3) : end]
        if not _has_address(name) or at - host.start(3) + len(protocol or "https://") > _LONGEST:
            continue
        if protocol:
            yield from _of_x_itself(text, host.start(2), at)
        elif (before or " ") not in _NOT_BEFORE_NAME:
            yield from _bare(name, host.start(3), at if rest[1] else end)


def _end_of_name(text: str, start: int, end: int) -> int:
    """Return the end of the longest host name with a top-level domain, 0 without one."""
    dot = text.rfind(".", start, end)
    while dot >= 0:
        earlier = text.rfind(".", start, dot)
        name_end = 0 if "_" in text[max(start, earlier + 1) : dot] else _end_of_top_level(text, dot + 1)
        if name_end:
            return name_end
        dot = earlier
    return 0


def _end_of_top_level(text: str, start: int) -> int:
    """Return where the top-level domain that begins at `start` ends; 0 if there is none."""
    if punycode := _rule(_PUNYCODE).match(text, start):
        return punycode.end()
    word = _rule(_WORD).match(text, start)
    ends = range(word.end(), start, -1) if word else ()
    return next((end for end in ends if not _rule(_GOES_ON).match(text, end) and is_top_level(text[start:end])), 0)


def _bare(name: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the Latin parts of the host `name`, as X links them without a protocol.

    The path up to `end` belongs to the last part.
    """
    for labels in _rule(_LATIN_LABELS).finditer(name):
        dots = [index for index in range(labels.start(), labels.end()) if name[index] == "."]
        stop = next(filter(None, (_end_of_top_level(name, dot + 1) for dot in reversed(dots))), 0)
        if stop:
            yield start + labels.start(), end if stop == len(name) else start + stop


def _of_x_itself(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span of a web address; of a t.co address only the part that X generates."""
    own = _rule(_OWN).match(text, start, end)
    if own is None:
        yield start, end
    elif len(own[1]) <= _LONGEST_OWN:
        yield start, own.end()


def _has_address(name: str) -> bool:
    """Return whether no label of the host `name` is too long, also in Punycode.

    X allows what IDNA does not, such as a label of Arabic and Latin letters.
    """
    return all(len(_punycode(label)) <= _LONGEST_LABEL for label in name.split("."))


def _punycode(label: str) -> str:
    if label.isascii():
        return label
    parts = re.split("[\u3002\uff0e\uff61]", label)  # IDNA treats these full stops as dots
    return ".".join(each if each.isascii() else f"xn--{each.encode('punycode').decode('ascii')}" for each in parts)


# In the patterns below: Z joins two pictures, V requests the coloured form, T is a skin tone.
_MEANS = {"Z": "\u200d", "V": "\ufe0f", "T": "[\U0001f3fb-\U0001f3ff]"}

# Letters and signs that become a picture only with V, and a few that need no V but often get one.
_SIGNS = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23ed-\u23ef\u23f1\u23f2"
    "\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620"
    "\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668"
    "\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4"
    "\u26c5\u26c8\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2708\u2709\u270c\u270d"
    "\u270f\u2712\u2714\u2716\u271d\u2721\u2733\u2734\u2744\u2747\u2757\u2763\u2764\u27a1\u2934\u2935\u2b05-\u2b07"
    "\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202"
    "\U0001f21a\U0001f22f\U0001f237\U0001f321\U0001f324-\U0001f32c\U0001f336\U0001f37d\U0001f396\U0001f397"
    "\U0001f399-\U0001f39b\U0001f39e\U0001f39f\U0001f3cb-\U0001f3ce\U0001f3d4-\U0001f3df\U0001f3f3\U0001f3f5"
    "\U0001f3f7\U0001f43f\U0001f441\U0001f4fd\U0001f549\U0001f54a\U0001f56f\U0001f570\U0001f573-\U0001f579\U0001f587"
    "\U0001f58a-\U0001f58d\U0001f590\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4"
    "\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa"
    "\U0001f6cb\U0001f6cd-\U0001f6cf\U0001f6e0-\U0001f6e5\U0001f6e9\U0001f6f0\U0001f6f3"
)
# People and body parts, which may have a skin tone.
_SKINS = (
    "\u261d\u26f9\u270a-\u270d\U0001f385\U0001f3c2-\U0001f3c4\U0001f3c7\U0001f3ca-\U0001f3cc\U0001f442\U0001f443"
    "\U0001f446-\U0001f450\U0001f466-\U0001f478\U0001f47c\U0001f481-\U0001f483\U0001f485-\U0001f487\U0001f48f"
    "\U0001f491\U0001f4aa\U0001f574\U0001f575\U0001f57a\U0001f590\U0001f595\U0001f596\U0001f645-\U0001f647"
    "\U0001f64b-\U0001f64f\U0001f6a3\U0001f6b4-\U0001f6b6\U0001f6c0\U0001f6cc\U0001f90c\U0001f90f\U0001f918-\U0001f91f"
    "\U0001f926\U0001f930-\U0001f939\U0001f93c-\U0001f93e\U0001f977\U0001f9b5\U0001f9b6\U0001f9b8\U0001f9b9\U0001f9bb"
    "\U0001f9cd-\U0001f9cf\U0001f9d1-\U0001f9dd\U0001fac3-\U0001fac5\U0001faf0-\U0001faf8"
)
_DOERS = "🏃🏄🏊👮👯👰👱👳👷💁💂💆💇🙅🙆🙇🙋🙍🙎🚣🚴🚵🚶🤦🤵🤷🤸🤹🤼🤽🤾🦸🦹🧍🧎🧏🧔🧖🧗🧘🧙🧚🧛🧜🧝🧞🧟"
_BETWEEN = "(?:❤V(?:Z💋)?|🤝|🐰|🫯)"

# A longer pattern comes before one that is its beginning.
_JOINED = (
    f"👩T?Z{_BETWEEN}Z[👨👩]T?|👨T?Z{_BETWEEN}Z👨T?|🧑T?Z{_BETWEEN}Z🧑T?|🫱TZ🫲T",  # two people
    "(?:👨(?:Z[👨👩])?|👩(?:Z👩)?)Z(?:👧Z[👦👧]|👦Z👦|[👦👧])|🧑(?:Z🧑)?Z🧒(?:Z🧒)?",  # families
    "[🏃🚶🧎]T?(?:Z[♀♂]V)?Z➡V|[👨👩🧑]T?Z[🦯🦼🦽]Z➡V",  # people on their way to the right
    f"(?:[{_DOERS}]T?|[⛹🏋🏌🕵](?:T|V))Z[♀♂]V",  # women and men
    "[👨👩🧑]T?Z(?:[⚕⚖✈]V|[🌾🍳🍼🎓🎤🎨🏫🏭💻💼🔧🔬🚀🚒🦯🦰🦱🦲🦳🦼🦽])|🧑T?Z[🎄🩰]",  # occupations and hair
    "❤VZ[🔥🩹]|⛓VZ💥|🏳VZ(?:⚧V|🌈)|🏴Z☠V|🐕Z🦺|🐈Z⬛|🐦Z[⬛🔥]|🐻Z❄V|👁VZ🗨V|🍄Z🟫|🍋Z🟩|😮Z💨|😵Z💫|😶Z🌫V|🙂Z[↔↕]V",
)
# England, Scotland and Wales: a black flag, followed by invisible letters.
_NATIONS = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
)
# Pairs of letters that form a flag: the first letter, then all second ones.
_FLAGS = {
    "A": "CDEFGILMOQRSTUWXZ",
    "B": "ABDEFGHIJLMNOQRSTVWYZ",
    "C": "ACDFGHIKLMNOPQRUVWXYZ",
    "D": "EGJKMOZ",
    "E": "ACEGHRSTU",
    "F": "IJKMOR",
    "G": "ABDEFGHILMNPQRSTUWY",
    "H": "KMNRTU",
    "I": "CDELMNOQRST",
    "J": "EMOP",
    "K": "EGHIMNPRWYZ",
    "L": "ABCIKRSTUVY",
    "M": "ACDEFGHKLMNOPQRSTUVWXYZ",
    "N": "ACEFGILOPRUZ",
    "O": "M",
    "P": "AEFGHKLMNRSTWY",
    "Q": "A",
    "R": "EOSUW",
    "S": "ABCDEGHIJKLMNORSTVXYZ",
    "T": "ACDFGHJKLMNORTVWZ",
    "U": "AGMNSYZ",
    "V": "ACEGINU",
    "W": "FS",
    "X": "K",
    "Y": "ET",
    "Z": "AMW",
}


def _flag(letters: str) -> str:
    return "".join(chr(ord(letter) + 0x1F1E6 - ord("A")) for letter in letters)


@cache
def emoji_sequences() -> re.Pattern[str]:
    """Return a pattern for emoji of several characters; compiled once, because it is slow."""
    patterns = [
        *(re.sub("[ZVT]", lambda name: _MEANS[name[0]], pattern) for pattern in _JOINED),
        _NATIONS,
        *(f"{_flag(first)}[{_flag(seconds)}]" for first, seconds in _FLAGS.items()),
        f"[{_SKINS}]{_MEANS['V']}?{_MEANS['T']}",
        f"[{_SIGNS}]{_MEANS['V']}",
        f"[0-9#*]{_MEANS['V']}?\u20e3",
    ]
    return re.compile("|".join(patterns))


X_LIMIT = 280
_ADDRESS = 23
_EMOJI = 2
_HEAVY = re.compile("[^\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037]")  # each of these counts as two characters
_NEVER = re.compile("[\ufffe\uffff\ufeff\ud800-\udfff]")  # noncharacters, byte order mark, surrogates


def text_length(text: str) -> int:
    """Return the length of `text` as X counts it."""
    text = unicodedata.normalize("NFC", text)
    weight = at = 0
    for start, end in find_links(text):
        weight += _weigh_plain(text[at:start]) + _ADDRESS
        at = end
    return weight + _weigh_plain(text[at:])


def has_link(text: str) -> bool:
    """Return whether X treats something in `text` as a web address: such a post costs more."""
    return any(find_links(unicodedata.normalize("NFC", text)))


def forbidden_characters(text: str) -> str:
    """Return why X rejects `text` at any length; empty if it does not."""
    never = _NEVER.search(unicodedata.normalize("NFC", text))
    return f"a character that X rejects: U+{ord(never[0]):04X}" if never else ""


def _weigh_plain(text: str) -> int:
    if not _HEAVY.search(text):  # most texts have no such character, and every emoji of several characters has one
        return len(text)
    rest, emoji = emoji_sequences().subn("", text)
    return emoji * _EMOJI + len(rest) + len(_HEAVY.findall(rest))
