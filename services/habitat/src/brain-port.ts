/** What the registry asks the brain. */
import { CallError } from '@svc/contract/codes.ts';
import { ASKED_WITHIN_MS } from '@svc/contract/registry.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { HomesOfResource } from './domain/policy-decider.ts';
import type { Prototype } from './domain/prototype.ts';

export interface BrainPort {
  /** Version of the layout of the brains. Throws SERVICE_UNAVAILABLE when nobody tells, or an import is not finished. */
  layoutVersion(): Promise<number>;
  /** Prototypes of agents that everybody may read: the beginning of each, or the one of that name whole. None when nobody tells. */
  prototypes(name?: string): Promise<readonly Prototype[]>;
  /** Of a brain, a file in one, or an island. Throws SERVICE_UNAVAILABLE when nobody tells. */
  home(resource: string): Promise<HomesOfResource>;
}

const Layout = z.object({ version: z.int() });
const Homes = z.object({ own: z.string().nullable(), brain: z.string().nullable() });
const Prototypes = z.object({ files: z.array(z.object({ name: z.string(), content: z.string() })) });

export function createBrainPort({ bus, clock }: Pick<Platform, 'bus' | 'clock'>): BrainPort {
  return {
    async layoutVersion() {
      const options = { deadlineAt: clock.now() + ASKED_WITHIN_MS };
      const reply = await bus.request('brain.layout', '', options).catch(() => 'null');
      const layout = Layout.safeParse(JSON.parse(reply));
      if (!layout.success) throw new CallError('SERVICE_UNAVAILABLE', 'The version of the brain cannot be read.');
      return layout.data.version;
    },
    async home(resource) {
      const options = { deadlineAt: clock.now() + ASKED_WITHIN_MS };
      const reply = await bus.request('brain.home', JSON.stringify({ resource }), options).catch(() => 'null');
      const homes = Homes.safeParse(JSON.parse(reply));
      if (!homes.success)
        throw new CallError('SERVICE_UNAVAILABLE', 'Where the resource is at home cannot be told now.');
      return homes.data;
    },
    async prototypes(name) {
      const options = { deadlineAt: clock.now() + ASKED_WITHIN_MS };
      const reply = await bus.request('brain.prototypes', JSON.stringify({ name }), options).catch(() => 'null');
      const answer = Prototypes.safeParse(JSON.parse(reply));
      return answer.success ? answer.data.files : [];
    },
  };
}
