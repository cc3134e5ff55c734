-- What a cut says is what the trigger of the entries lets go, so it says nothing but: up to this entry, which is there with this
-- hash, before the end of its chain, and no longer young. It moves forward alone, stays, and only its signature may change.
-- Whether the signature is right the database cannot tell: it does not have the key.
-- (\x3b is the semicolon inside the body: tools that split this file into statements must not split there.)
CREATE FUNCTION "habitat".guard_cut() RETURNS trigger LANGUAGE plpgsql AS
  E'BEGIN
    IF TG_OP IN (\'DELETE\', \'TRUNCATE\') THEN RAISE EXCEPTION \'a cut of the audit is never taken back\'\x3b END IF\x3b
    IF TG_OP = \'UPDATE\' THEN
      IF NEW.chain <> OLD.chain OR NEW.seq < OLD.seq THEN RAISE EXCEPTION \'a cut of the audit is never taken back\'\x3b END IF\x3b
      IF NEW.seq = OLD.seq AND NEW.hash = OLD.hash THEN RETURN NEW\x3b END IF\x3b
    END IF\x3b
    IF NOT EXISTS (
      SELECT 1 FROM "habitat"."audit_entries" e JOIN "habitat"."audit_heads" h ON h.chain = e.chain AND h.seq >= e.seq
      WHERE e.chain = NEW.chain AND e.seq = NEW.seq AND e.hash = NEW.hash AND e.at < clock_timestamp() - interval \'1 day\'
    ) THEN RAISE EXCEPTION \'a cut of the audit ends at an old entry of its chain\'\x3b END IF\x3b
    RETURN NEW\x3b
  END';
CREATE TRIGGER "audit_cuts_forward" BEFORE INSERT OR UPDATE OR DELETE ON "habitat"."audit_cuts"
  FOR EACH ROW EXECUTE FUNCTION "habitat".guard_cut();
CREATE TRIGGER "audit_cuts_no_truncate" BEFORE TRUNCATE ON "habitat"."audit_cuts"
  FOR EACH STATEMENT EXECUTE FUNCTION "habitat".guard_cut();
