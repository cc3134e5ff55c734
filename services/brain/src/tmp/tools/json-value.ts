import { z } from 'zod';

const MAX_JSON_BYTES = 256 * 1024;

/** Any JSON of at most 256 KiB. It came as JSON, so only its size is judged; null is a value. */
export const JsonValue = z
  .unknown()
  .refine((value) => value !== undefined, { message: 'is missing' })
  .refine((value) => value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_JSON_BYTES, {
    message: 'must be at most 256 KiB as JSON',
  });
