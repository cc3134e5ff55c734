-- CreateTable
CREATE TABLE "habitat"."audit_use" (
    "scope" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "used" INTEGER NOT NULL,

    CONSTRAINT "audit_use_pkey" PRIMARY KEY ("scope")
);

-- CreateIndex
CREATE INDEX "audit_use_since_idx" ON "habitat"."audit_use"("since");
