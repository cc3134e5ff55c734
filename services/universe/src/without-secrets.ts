/** What may be stored of a result. */

/** `secrets`: paths of fields, which are null in the copy; a field that is not there is not added. */
export function withoutSecrets(result: unknown, secrets: readonly string[]): unknown {
  return secrets.reduce((kept, path) => withNullAt(kept, path.split('.')), result);
}

function withNullAt(value: unknown, [field, ...deeper]: readonly string[]): unknown {
  if (field === undefined) return null;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return value;
  return { ...value, [field]: withNullAt((value as Record<string, unknown>)[field], deeper) };
}
