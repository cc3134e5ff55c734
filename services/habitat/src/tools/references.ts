/** How callers name organisations and their parts. */
import { z } from 'zod';

export const Reference = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,128}$/u, 'must be 1-128 characters without control characters')
  .describe('Id, or a name that is unique in what the caller sees.');
