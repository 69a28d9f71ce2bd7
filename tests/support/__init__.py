"""What several folders of tests share; no test lives here."""
