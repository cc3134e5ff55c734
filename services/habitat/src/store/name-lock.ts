import { nameLock } from '@svc/runtime/name-lock.ts';

export const lockNames = nameLock('habitat');
