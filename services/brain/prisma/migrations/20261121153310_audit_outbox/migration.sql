-- CreateTable
CREATE TABLE "brain"."audit_outbox" (
    "id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "workspace" TEXT,
    "subject" JSON NOT NULL,
    "data" JSON NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "audit_outbox_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "audit_outbox_written_idx" ON "brain"."audit_outbox"("written");

-- What was recorded so far joins the chains of the audit like everything after it.
INSERT INTO "brain"."audit_outbox" (id, event, workspace, subject, data, at)
  SELECT id, action, NULL, json_build_object('verified', false),
    json_build_object('by', actor, 'target', target, 'details', details), at
  FROM "brain"."audit" ORDER BY at, id;
DROP TABLE "brain"."audit";
