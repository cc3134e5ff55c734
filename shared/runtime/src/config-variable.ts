/** How a variable of the environment is declared. */
import type { z } from 'zod';

export interface Variable<Schema extends z.ZodType> {
  readonly schema: Schema;
  readonly meaning: string;
  /** Text shown in documentation; secrets never show a value. */
  readonly fallback: string;
  readonly secret?: true;
}

export function variable<Schema extends z.ZodType>(
  schema: Schema,
  fallback: string,
  meaning: string,
): Variable<Schema> {
  return { schema, fallback, meaning };
}

export function secret<Schema extends z.ZodType>(schema: Schema, meaning: string): Variable<Schema> {
  return { schema, fallback: 'none', meaning, secret: true };
}
