/** Collections of documents, questions and judgements, as a folder of JSON files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** Judgements: by question, then by document, how well it answers; 0 = not at all. */
const Collection = z.object({
  brains: z.array(
    z.object({
      docs: z.array(z.object({ id: z.string(), title: z.string().default(''), text: z.string() })),
      queries: z.array(z.object({ id: z.string(), text: z.string() })),
      qrels: z.record(z.string(), z.record(z.string(), z.number())),
    }),
  ),
});
export type Brain = z.output<typeof Collection>['brains'][number];

interface NamedCollection {
  readonly name: string;
  readonly brains: readonly Brain[];
}

/** Throws where there is none: what is measured without texts and questions says nothing. */
export function readCollections(folder: string): NamedCollection[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  if (files.length === 0) throw new Error(`${folder}: no collection (*.json)`);
  return files.map((file) => {
    const { brains } = Collection.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    return { name: file.replace(/\.json$/, ''), brains };
  });
}
