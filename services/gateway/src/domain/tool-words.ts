/** Words as they count in the search for a tool. */

/** They stand in most sentences and tell nothing of what is looked for. */
const FUNCTION_WORDS = new Set(
  `a about all also an and another any are as at be by can did do does find for from get give go has have how i if in into is it its
   let me much my new no not now of on one onto or other our out over please see some somebody someone something so tell than that the
   their them then there they this to tool tools up use using want was we what when where whether which while will with
   would you your`.split(/\s+/),
);

/** What callers say for one thing, however the tools call it. */
const SAME_THING = [
  'acknowledge ack complete done finish confirm',
  'add insert append put enqueue',
  'agent subagent worker bot',
  'available left remaining rest balance',
  'backup dump snapshot export',
  'binary image photo png upload attachment',
  'branch fork',
  'brain repository repo',
  'budget money credit fund spend escrow limit pay payment cost',
  'buy purchase acquire order',
  'cancel abort withdraw stop',
  'channel thread discussion chat conversation room',
  'change edit update modify alter',
  'code javascript python script program function',
  'commit version save',
  'crew team group squad',
  'compare diff differ change',
  'create make open begin start new assemble form spawn derive',
  'cron schedule recurring periodic timer interval hour daily every',
  'delegate assign hand task inbox',
  'delete remove erase forget drop clear',
  'deliver send hand',
  'directory folder path',
  'dispute refute refund complain chargeback',
  'event news activity recent happened since watch',
  'execute run eval shell bash command',
  'fact knowledge memory note diary entry learn remember',
  'fetch download url web http page',
  'history past previous earlier old log revision version author yesterday back',
  'invite join member membership role',
  'job work task queue stream',
  'give grant issue mint allow',
  'kill end terminate stop',
  'lease lock renew prolong',
  'meaning semantic similar vector embedding',
  'merge combine join',
  'message say mail post notify letter',
  'move transfer hand',
  'permission right boundary policy access grant allow restrict private hide share protect',
  'poll vote ballot topic survey election consensus',
  'post forum article',
  'rate limit throttle quota qos',
  'read load show view recall',
  'remote github origin upstream',
  'retry again repeat attempt',
  'reputation trust rating review score',
  'restore recover undo revert',
  'search look query retrieve',
  'secret credential token key password apikey',
  'sell offer listing',
  'status state health',
  'store put write set keep save record',
  'take claim next pull pop',
  'temporary tmp scratch cache',
  'who whoami identity myself user',
  'world universe simulation',
];

const ENDING = /(?:ings?|ers?|e?s|ed|e)$/;
const MIN_STEM = 3;

function stemOf(word: string): string {
  const stem = word.replace(ENDING, '');
  return stem.length >= MIN_STEM ? stem : word;
}

/** Each stem with those that mean the same to a caller. */
const MEANINGS = new Map<string, Set<string>>();
for (const line of SAME_THING) {
  const stems = line.split(' ').map(stemOf);
  for (const stem of stems) MEANINGS.set(stem, new Set([...(MEANINGS.get(stem) ?? []), ...stems]));
}

/** Words that mean the same as this one, which is not among them. */
export function meaningsOf(stem: string): string[] {
  return [...(MEANINGS.get(stem) ?? [])].filter((other) => other !== stem);
}

/** Stems of a text in lower case; names fall apart at underscores and capitals. */
export function wordsOf(text: string): string[] {
  return wholeWords(text).map(stemOf);
}

/** The same of what is asked, without words that tell nothing where others are left. */
export function askedWords(query: string): string[] {
  const words = wholeWords(query);
  const telling = words.filter((word) => !FUNCTION_WORDS.has(word));
  return (telling.length > 0 ? telling : words).map(stemOf);
}

function wholeWords(text: string): string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
}
