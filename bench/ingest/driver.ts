/** Writes every document that is not acknowledged yet: `node driver.ts <url> <journal> <writers>`. May be killed. */
import { callTool } from '../call.ts';
import { AUTHORISED } from '../system.ts';
import { type Document, readCorpus } from './corpus.ts';
import { Journal, readJournal } from './journal.ts';

const [url = '', journalFile = '', writers = ''] = process.argv.slice(2);
const done = readJournal(journalFile);
const journal = await Journal.open(journalFile);
const waiting = readCorpus().filter(({ path }) => !done.has(path));

await Promise.all(Array.from({ length: Number(writers) }, work));
await journal.close();

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await write(next);
}

async function write({ path, content }: Document): Promise<void> {
  await callTool(url, AUTHORISED, 'svc_set_memory', { file: path, content });
  await journal.append(path);
}
