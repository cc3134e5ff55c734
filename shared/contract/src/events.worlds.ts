/** Events of worlds and their manifests, to whoever may read the files that they are about. */
import { z } from 'zod';
import { by, type EventDeclaration } from './event-declaration.ts';

const about = {
  id: z.string().describe('Of the manifest.'),
  world: z.string(),
  brain: z.string(),
  branch: z.string(),
  by,
  resources: z.array(z.string()).describe('Row-rule keys that decide who may hear it.'),
};
const restore = { ...about, restoreId: z.string() };

const ofWorld = <Shape extends z.ZodRawShape>(meaning: string, shape: Shape) =>
  ({
    service: 'universe',
    meaning,
    audience: 'readers',
    payload: z.strictObject(shape),
  }) as const satisfies EventDeclaration;

export const WORLD_EVENTS = {
  'universe:recorded': ofWorld('A manifest was stored in a brain.', { ...about, file: z.string() }),
  'universe:resumed': ofWorld('A world was resumed: the brain says which, and since when.', {
    ...restore,
    liveRootMatch: z.boolean().nullable().describe('Whether the brain held that very state; null = it held no cell.'),
    materialized: z.int().describe('Cells that were written.'),
  }),
  'universe:materialized': ofWorld('The cells of a world were written into a brain.', { ...restore, cells: z.int() }),
} as const satisfies Record<string, EventDeclaration>;
