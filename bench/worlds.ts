/** What a world costs: derived, recorded again, resumed, and written with what that is paid. */
import { type Ask, type Case, type Cycle, type Cycles } from './cycles.ts';

export const WORLDS: Cycles = { unit: 'snapshots', casesOf };

/** As many as one home may have beside the first; clients of one brain wait for each other. */
const BRAINS = 12;
const brainOf = (client: number): string => `bench-world-${client % BRAINS}`;

async function casesOf(ask: Ask): Promise<readonly Case[]> {
  const ids: string[] = [];
  for (let client = 0; client < BRAINS; client += 1) {
    await ask('brain_push', { name: brainOf(client), create: true });
    ids.push(String((await ask('svc_universe_record', { name: 'demo', brain: brainOf(client) }))['id']));
  }
  await ask('escrow_create', { agentId: 'scenario:materialize:bench', budget: 100_000_000 });
  const id = ids[0] ?? '';
  const resume =
    (materialize: boolean): Cycle =>
    async (client) => {
      await ask('svc_universe_resume', { id, brain: brainOf(client), actor: 'bench', materialize });
    };
  return [
    { title: 'snapshot', cycle: async () => void (await ask('svc_universe_snapshot', { name: 'demo' })), aim: '' },
    {
      title: 'record what is there',
      cycle: async (client) => void (await ask('svc_universe_record', { name: 'demo', brain: brainOf(client) })),
      aim: '',
    },
    { title: `resume, ${BRAINS} brains`, cycle: resume(false), aim: '' },
    { title: `resume with materialize, ${BRAINS} brains`, cycle: resume(true), aim: '' },
  ];
}
