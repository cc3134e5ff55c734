/** SQL for a time as milliseconds since the epoch, the form in which times leave the store. */
export const epochMs = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`;
