/** What the brain does for other services. */
import type { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import { addressOf } from './addresses/domain/address.ts';
import type { BrainDeps } from './deps.ts';
import { fileOperations } from './for-services/files.ts';
import { leaseOperations } from './for-services/lease.ts';
import { remoteOperations } from './for-services/remotes.ts';
import { recordOperations } from './records/for-services.ts';
import { outside, reach } from './outside.ts';
import { prototypes } from './prototype-files.ts';

export const serviceOperations: Handlers<typeof BRAIN, BrainDeps> = {
  layout: async (_question, { deps }) => ({ version: deps.layout.status().markerVersion }),
  home: ({ resource }, { deps }) => deps.homesOf(resource),
  address: async ({ text }) => ({ barcode: addressOf(text).barcode }),
  prototypes,
  ...recordOperations,
  ...fileOperations,
  ...leaseOperations,
  ...remoteOperations,
  outside,
  reach,
};
