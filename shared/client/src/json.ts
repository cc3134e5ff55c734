/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [field: string]: Json };

export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
