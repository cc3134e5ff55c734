/** What the registry asks the brain. */
import { CallError } from '@svc/contract/codes.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { Prototype } from './domain/prototype.ts';

/** Nobody waits long for what is only shown. */
const ADDRESS_WITHIN_MS = 500;

export interface BrainPort extends Pick<OperationClient<typeof BRAIN, 'habitat'>, 'home'> {
  /** Version of the layout of the brains. Throws SERVICE_UNAVAILABLE when nobody tells, or an import is not finished. */
  layoutVersion(): Promise<number>;
  /** Address of the text; null when nobody tells within half a second. */
  addressOf(text: string): Promise<string | null>;
  /** Prototypes of agents that everybody may read: the beginning of each, or the one of that name whole. None when nobody tells. */
  prototypes(name?: string): Promise<readonly Prototype[]>;
}

export function createBrainPort(platform: Pick<Platform, 'bus' | 'clock'>): BrainPort {
  const brain = createOperationClient(platform, BRAIN, 'habitat');
  return {
    home: brain.home,
    async layoutVersion() {
      const { version } = await brain.layout({});
      if (version === null) throw new CallError('SERVICE_UNAVAILABLE', 'The version of the brain cannot be read.');
      return version;
    },
    async addressOf(text) {
      try {
        return (await brain.address({ text }, { deadlineAt: platform.clock.now() + ADDRESS_WITHIN_MS })).barcode;
      } catch (error) {
        if (error instanceof CallError && error.code !== 'INTERNAL') return null;
        throw error;
      }
    },
    async prototypes(name) {
      try {
        return (await brain.prototypes(name === undefined ? {} : { name })).files;
      } catch (error) {
        if (error instanceof CallError && error.code !== 'INTERNAL') return [];
        throw error;
      }
    },
  };
}
