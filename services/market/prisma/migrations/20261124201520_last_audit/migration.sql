-- CreateTable
CREATE TABLE "market"."last_audit" (
    "id" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "found" INTEGER NOT NULL,

    CONSTRAINT "last_audit_pkey" PRIMARY KEY ("id")
);
