-- CreateTable
CREATE TABLE "habitat"."audit_cuts" (
    "chain" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "hash" TEXT NOT NULL,
    "mac" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_cuts_pkey" PRIMARY KEY ("chain")
);

-- A version that does not know of cuts would call a chain that was cut broken, so it does not start beside this one.
-- Entries of the audit are only ever added, and go from the front of their chain up to its cut.
-- (\x3b is the semicolon inside the body: tools that split this file into statements must not split there.)
CREATE OR REPLACE FUNCTION "habitat".refuse_change() RETURNS trigger LANGUAGE plpgsql AS
  E'BEGIN IF TG_OP = \'DELETE\' THEN IF EXISTS (SELECT 1 FROM "habitat"."audit_cuts" c WHERE c.chain = OLD.chain AND c.seq >= OLD.seq) THEN RETURN OLD\x3b END IF\x3b END IF\x3b RAISE EXCEPTION \'entries of the audit are never changed\'\x3b END';
