/** A verb with its irregular forms, one verb a line. Forms that are common as other words (ground, bit, lay, wound, saw) are left out. */
const verbs = `
arise arose arisen
awake awoke awoken
beat beaten
become became
begin began begun
bend bent
bite bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
deal dealt
dig dug
do did done
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fling flung
fly flew flown
forbid forbade forbidden
foresee foresaw foreseen
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
grow grew grown
hang hung
have had
hear heard
hide hid
hold held
keep kept
kneel knelt
know knew known
lead led
leap leapt
learn learnt
lend lent
light lit
lose lost
make made
mean meant
meet met
mislead misled
mistake mistook mistaken
misunderstand misunderstood
oversee oversaw overseen
overcome overcame
override overrode overridden
overwrite overwrote overwritten
pay paid
prove proven
rebuild rebuilt
repay repaid
resell resold
rewrite rewrote rewritten
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see seen
seek sought
sell sold
send sent
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
speed sped
spell spelt
spend spent
spill spilt
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
stink stank stunk
strike struck stricken
strive strove striven
swear swore sworn
sweep swept
swell swollen
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tread trod trodden
undergo underwent undergone
understand understood
undertake undertook undertaken
undo undid undone
unwind unwound
uphold upheld
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
withhold withheld
write wrote written
`;

const bases = new Map<string, string>();
for (const verb of verbs.trim().split('\n')) {
  const [base = '', ...forms] = verb.split(' ');
  for (const form of forms) bases.set(form, base);
}

const unlike = [...bases].flatMap(([form, base]) => (form.charAt(0) === base.charAt(0) ? [] : [form]));

/** The base form of an irregular verb form; any other word as it is. */
export function baseForm(word: string): string {
  return bases.get(word) ?? word;
}

/** Forms that do not begin as their base does. */
export function unlikeForms(): readonly string[] {
  return unlike;
}
